/**
 * What a plan writes and what it reads lie apart: a run that wrote over its own input would compute from what it had just
 * removed. Places are compared as they really are, through links and whatever way they are written down.
 */
import { fail } from "../errors.ts";
import { isNode } from "../io/node.ts";
import { placeOf, type ZarrSource } from "../io/zarr-group.ts";
import { absolutePath, pathOf, realPath, sourceOf, workFolder } from "./stores.ts";
import type { AllowList, Plan } from "./types.ts";

const OPERATION = "chunked";

/** Throws where the result, or what lies between operations, would be written over an input or over each other. */
export function checkPlaces(plan: Plan, allow: AllowList): void {
  const objects: unknown[] = [];
  const written: [what: string, place: string, option: string][] = [];
  const read: [what: string, place: string][] = [];
  for (const [name, { role }] of Object.entries(plan.arrays)) {
    const source = sourceOf(plan, name, allow);
    const path = role === "work" ? workFolder(plan) : pathOf(plan, name);
    const place = realPlace(source, path, objects);
    if (role === "input") read.push([`an array that the plan reads: ${name}`, place]);
    else if (role === "output") written.push(["the result", place, "to"]);
    else if (!written.some(([, , option]) => option === "work"))
      written.unshift(["what lies between operations", place, "work"]);
  }
  for (const [k, [what, place, option]] of written.entries()) {
    for (const [other, there] of [...read, ...written.slice(k + 1)]) {
      if (!isIn(place, there) && !isIn(there, place)) continue;
      const how = place === there ? "over" : isIn(place, there) ? "into" : "around";
      const at = /^object /.test(there) ? "" : `, at ${JSON.stringify(there)}`;
      fail(
        "value",
        OPERATION,
        `${what} would be written ${how} ${other}${at}.`,
        `Give another { ${option} }.`,
      );
    }
  }
}

const isIn = (place: string, folder: string): boolean => place === folder || place.startsWith(`${folder}/`);

/** A path or an address below which all of an array lies; objects that do not say where they keep things are numbered. */
function realPlace(source: ZarrSource, path: string, objects: unknown[]): string {
  const at = placeOf(OPERATION, source);
  let root: string;
  if (at === undefined) {
    if (!objects.includes(source)) objects.push(source);
    root = `object ${objects.indexOf(source)}`;
  } else if (isNode() && !/^https?:/i.test(at)) {
    const all = path === "" ? at : `${at}/${path}`;
    return (realPath(all) ?? absolutePath(all)).replaceAll("\\", "/").replace(/\/$/, "");
  } else {
    root = decoded(at).replace(/\/+$/, "");
  }
  return path === "" ? root : `${root}/${path}`;
}

/** An address without escapes: which characters have one is up to whoever wrote it. */
function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
