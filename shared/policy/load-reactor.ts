import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/**
 * Reads, checks, unpacks and compiles the reactor: about half a second.
 * @throws where the artefact is not the one that its digest file names
 */
export async function loadReactor(path: string): Promise<WebAssembly.Module> {
  const [compressed, digestLine] = await Promise.all([readFile(path), readFile(`${path}.sha256`, 'utf8')]);
  const digest = createHash('sha256').update(compressed).digest('hex');
  if (digestLine.split(/\s/, 1)[0] !== digest)
    throw new Error(`The policy engine ${path} has another SHA-256 than its digest file says`);
  const bytes = await promisify(brotliDecompress)(compressed);
  // A copy of its own memory: a Buffer may be a window of a shared one.
  return WebAssembly.compile(new Uint8Array(bytes));
}
