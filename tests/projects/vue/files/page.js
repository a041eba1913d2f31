import { arange, kernel, Tensor, tensor } from "strided";
import { computed, createApp, h, nextTick, reactive, ref, toRaw, watch } from "vue";

const double = kernel((x) => x * 2);

async function main() {
  const state = reactive({ image: arange(6).reshape(2, 3), layers: [tensor([1, 2])], gain: 2 });
  const weights = ref(arange(3));
  const louder = computed(() => state.image.mul(state.gain).sum().item());
  const seen = [];
  watch(
    () => state.image,
    (now) => seen.push(now.shape.join("x")),
  );

  const app = createApp({
    render: () =>
      h("p", `${louder.value} ${weights.value.toArray().join()} ${double(state.layers[0]).toArray().join()}`),
  });
  const place = document.createElement("div");
  document.body.append(place);
  app.mount(place);
  const first = place.textContent;
  state.gain = 3;
  state.image = state.image.T;
  weights.value = weights.value.add(1);
  state.layers[0] = double(state.layers[0]);
  await nextTick();
  return {
    first,
    second: place.textContent,
    seen,
    isRaw: toRaw(state.image) === state.image,
    isTensor: [state.image, weights.value, state.layers[0]].every((t) => t instanceof Tensor),
  };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
