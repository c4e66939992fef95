/** Deeper results are refused (as the reactor does, `opa/evaluate.go`): a thread can't even hand them over. */
const MAX_DEPTH = 500;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

export function isTooDeep(json: Uint8Array): boolean {
  // Each level takes two bytes at least.
  if (json.length < MAX_DEPTH * 2) return false;
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index] ?? 0;
    if (quoted) {
      if (byte === BACKSLASH) index += 1;
      else quoted = byte !== QUOTE;
    } else if (byte === QUOTE) quoted = true;
    else if (OPENING.has(byte)) {
      depth += 1;
      // The SDK's own list and object around the document are two of them.
      if (depth > MAX_DEPTH + 2) return true;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return false;
}
