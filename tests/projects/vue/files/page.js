import { arange, kernel, scope, Tensor, TensorError, tensor } from "strided";
import {
  computed,
  createApp,
  h,
  nextTick,
  onUnmounted,
  reactive,
  ref,
  shallowRef,
  toRaw,
  triggerRef,
  watch,
} from "vue";

const double = kernel((x) => x * 2);

function isDisposed(t) {
  try {
    t.toArray();
    return false;
  } catch (error) {
    return error instanceof TensorError && error.code === "disposed";
  }
}

async function main() {
  const state = reactive({ image: arange(6).reshape(2, 3), layers: [tensor([1, 2])], gain: 2 });
  const weights = ref(arange(3));
  const louder = computed(() => state.image.mul(state.gain).sum().item());
  const seen = [];
  watch(
    () => state.image,
    (now) => seen.push(now.shape.join("x")),
  );

  // As docs/memory.md has it: written into, replaced with the one before freed, freed with the component.
  const level = shallowRef(tensor([1]));
  const shown = computed(() => scope(() => level.value.sum().item()));
  const frame = shallowRef(arange(3));
  watch(frame, (_, old) => old.dispose());
  const own = arange(2);

  const app = createApp({
    setup: () => onUnmounted(() => own.dispose()),
    render: () =>
      h(
        "p",
        `${louder.value} ${weights.value.toArray().join()} ${double(state.layers[0]).toArray().join()} ${shown.value}`,
      ),
  });
  const place = document.createElement("div");
  document.body.append(place);
  app.mount(place);
  const first = place.textContent;
  state.gain = 3;
  state.image = state.image.T;
  weights.value = weights.value.add(1);
  state.layers[0] = double(state.layers[0]);
  double.into(level.value, level.value);
  triggerRef(level);
  const before = frame.value;
  frame.value = before.add(1);
  await nextTick();
  const second = place.textContent;
  app.unmount();
  return {
    first,
    second,
    freed: [before, own, frame.value].map(isDisposed),
    seen,
    isRaw: toRaw(state.image) === state.image,
    isTensor: [state.image, weights.value, state.layers[0]].every((t) => t instanceof Tensor),
  };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
