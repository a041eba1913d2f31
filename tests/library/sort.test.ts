import { describe } from "vitest";
import { digitize, searchsorted } from "../../src/library/search.ts";
import { argsort, lexsort, sort, topk } from "../../src/library/sort.ts";
import { testReference } from "./reference.ts";

describe("sorting and searching", () => {
  testReference("sort", {
    sort: ([x], o) => sort(x, o),
    argsort: ([x], o) => argsort(x, o),
    lexsort: (keys, { list }) => lexsort(list ? keys : keys[0]),
    topk: ([x], { k, ...o }) => {
      const { values, indices } = topk(x, k, o);
      return [values, indices];
    },
    searchsorted: ([a, v, sorter], o) => searchsorted(a, v, sorter === undefined ? o : { ...o, sorter }),
    digitize: ([x, edges], o) => digitize(x, edges, o),
  });
});
