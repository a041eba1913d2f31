/** Formats that are known by their first bytes and not read here: what they are, and how to go on. */

interface Stranger {
  readonly name: string;
  /** A byte is null where any will do. */
  readonly begins: readonly (number | null)[];
  readonly remedy: string;
}

const codes = (text: string): number[] => [...text].map((c) => c.charCodeAt(0));
const skip = (n: number): null[] => new Array(n).fill(null);

const PICTURE =
  "Decode it first, with createImageBitmap and a canvas in browsers or with sharp in Node; image.fromRGBA takes its pixels.";
const PACKED = "Unpack it first.";

const strangers: readonly Stranger[] = [
  { name: "JPEG", begins: [0xff, 0xd8, 0xff], remedy: PICTURE },
  { name: "GIF", begins: codes("GIF8"), remedy: PICTURE },
  { name: "WebP", begins: [...codes("RIFF"), ...skip(4), ...codes("WEBP")], remedy: PICTURE },
  { name: "AVIF or HEIF", begins: [...skip(4), ...codes("ftyp")], remedy: PICTURE },
  { name: "TIFF", begins: codes("II*\0"), remedy: PICTURE },
  { name: "TIFF", begins: codes("MM\0*"), remedy: PICTURE },
  { name: "BMP", begins: [...codes("BM"), ...skip(4), 0, 0, 0, 0], remedy: PICTURE },
  { name: "gzip", begins: [0x1f, 0x8b], remedy: PACKED },
  { name: "bzip2", begins: codes("BZh"), remedy: PACKED },
  { name: "xz", begins: [0xfd, ...codes("7zXZ"), 0], remedy: PACKED },
  { name: "zstd", begins: [0x28, 0xb5, 0x2f, 0xfd], remedy: PACKED },
  ...[2, 3, 4, 5].map((version) => ({
    name: "a pickle of Python",
    begins: [0x80, version],
    remedy: "Reading one runs what it says: write its arrays with np.savez or as safetensors.",
  })),
  { name: "MATLAB 5", begins: codes("MATLAB 5.0"), remedy: "Save it with -v7.3, which is HDF5." },
  { name: "NetCDF 3", begins: codes("CDF"), remedy: "Make it NetCDF 4, which is HDF5: nccopy -k nc4." },
  { name: "FITS", begins: codes("SIMPLE  ="), remedy: "Write its arrays as npy, HDF5 or Zarr." },
];

/** What the first bytes of a file say that it is; null: nothing that is known. */
export function strangerOf(head: Uint8Array): { readonly name: string; readonly remedy: string } | null {
  const fits = ({ begins }: Stranger) => begins.every((x, i) => x === null || x === head[i]);
  return strangers.find((s) => head.length >= s.begins.length && fits(s)) ?? null;
}
