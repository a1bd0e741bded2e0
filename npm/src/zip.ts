import { RetvecLiteError } from "./errors.js";

/** A zip archive appended to another file. */
export interface Tail {
  /** Offset of the archive: the bytes before it are the other file. */
  readonly start: number;
  readonly members: ReadonlyMap<string, Uint8Array>;
}

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_HEADER = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;
/** Largest unpacked size of a member in bytes: enough for 10,000 long labels, too small for a zip bomb. */
const MEMBER_LIMIT = 4 << 20;

/**
 * Read the zip tail of a file (PKWARE APPNOTE 6.3.10, 4.3: end of central directory, central directory, local headers).
 *
 * Zip libraries do not tell where the archive begins, and that is where the model ends.
 *
 * @throws RetvecLiteError for a file without a readable archive at its end, or a member with a wrong CRC-32.
 */
export async function readZipTail(file: Uint8Array): Promise<Tail> {
  try {
    return await read(file);
  } catch (error) {
    // RangeError: an offset outside the file; TypeError: DecompressionStream on damaged data.
    if (error instanceof RangeError || error instanceof TypeError) throw damaged();
    throw error;
  }
}

async function read(file: Uint8Array): Promise<Tail> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = endOfDirectory(view);
  const count = view.getUint16(end + 10, true);
  const directory = end - view.getUint32(end + 12, true);
  // Offsets count from the start of the file, or, with some tools, from the start of the archive.
  const shift = directory - view.getUint32(end + 16, true);
  if (directory < 0 || shift < 0) throw damaged();
  const members = new Map<string, Uint8Array>();
  let start = directory;
  for (let index = 0, at = directory; index < count; index++) {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw damaged();
    const method = view.getUint16(at + 10, true);
    const checksum = view.getUint32(at + 16, true);
    const packed = view.getUint32(at + 20, true);
    const size = view.getUint32(at + 24, true);
    const nameLength = view.getUint16(at + 28, true);
    const header = view.getUint32(at + 42, true) + shift;
    const name = new TextDecoder().decode(file.subarray(at + 46, at + 46 + nameLength));
    if (view.getUint32(header, true) !== LOCAL_HEADER || size > MEMBER_LIMIT) throw damaged();
    const from = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
    if (from + packed > directory) throw damaged();
    const content = await unpack(file.subarray(from, from + packed), method);
    if (content.length !== size || crc32(content) !== checksum) throw damaged();
    members.set(name, content);
    start = Math.min(start, header);
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return { start, members };
}

function endOfDirectory(view: DataView): number {
  const last = view.byteLength - 22;
  for (let at = last; at >= Math.max(0, last - 0xffff); at--) {
    if (view.getUint32(at, true) === END_OF_DIRECTORY) return at;
  }
  throw damaged();
}

async function unpack(packed: Uint8Array, method: number): Promise<Uint8Array> {
  if (method === STORED) return packed;
  if (method !== DEFLATED) throw damaged();
  return decompress(packed, "deflate-raw", MEMBER_LIMIT);
}

/** Unpack with the browser's decoder; stop as soon as the output exceeds `limit` bytes. */
export async function decompress(
  packed: Uint8Array,
  format: CompressionFormat,
  limit = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const reader = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  const parts: BlobPart[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw damaged();
    }
    parts.push(value as BlobPart);
  }
}

function damaged(): RetvecLiteError {
  return new RetvecLiteError("The file has no readable zip archive at its end.");
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The CRC-32 of zip (ISO 3309). */
function crc32(data: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of data) value = (CRC_TABLE[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
