import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

/**
 * `node shared/policy/opa/build.ts [FOLDER]`: builds the reactor from its Go source (Go 1.26 and the module
 * proxy are needed; about a minute and a half of CPU) and writes `opa.wasm.br` and `opa.wasm.br.sha256`, here or into
 * the folder. The same Go and sources give the same bytes.
 */
const HERE = fileURLToPath(new URL('.', import.meta.url));
const target = process.argv[2] ?? HERE;

/** Pages of 64 KiB, 512 MiB in all: an instance that needs more traps, and its worker is replaced. */
const MEMORY_PAGES = 8192;
/** 10 and 11 save another 5 % and take minutes. */
const BROTLI_QUALITY = 9;
const MEMORY_SECTION = 5;

const folder = mkdtempSync(join(tmpdir(), 'policy-reactor-'));
try {
  const path = join(folder, 'opa.wasm');
  const flags = ['-buildmode=c-shared', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', path];
  const { status } = spawnSync('go', ['build', ...flags, '.'], {
    cwd: HERE,
    env: { ...process.env, GOOS: 'wasip1', GOARCH: 'wasm' },
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('go build failed');
  const wasm = withMemoryMaximum(readFileSync(path), MEMORY_PAGES);
  const compressed = brotliCompressSync(wasm, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: wasm.length,
    },
  });
  const digest = createHash('sha256').update(compressed).digest('hex');
  writeFileSync(join(target, 'opa.wasm.br'), compressed);
  writeFileSync(join(target, 'opa.wasm.br.sha256'), `${digest}  opa.wasm.br\n`);
  console.log(`${wasm.length} bytes, ${compressed.length} compressed, SHA-256 ${digest}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Go declares its memory without a maximum, and can't be told one: it is written into the memory section. */
function withMemoryMaximum(wasm: Buffer, pages: number): Buffer {
  let offset = 8;
  while (offset < wasm.length) {
    const size = readUnsigned(wasm, offset + 1);
    const end = size.next + size.value;
    if (wasm[offset] === MEMORY_SECTION) {
      // One memory, flags 0 (no maximum), its initial pages.
      const initial = readUnsigned(wasm, size.next + 2);
      if (wasm[size.next] !== 1 || wasm[size.next + 1] !== 0 || initial.next !== end)
        throw new Error('The memory section is not what Go used to write');
      const body = Buffer.from([1, 1, ...unsigned(initial.value), ...unsigned(pages)]);
      const section = Buffer.from([MEMORY_SECTION, ...unsigned(body.length), ...body]);
      return Buffer.concat([wasm.subarray(0, offset), section, wasm.subarray(end)]);
    }
    offset = end;
  }
  throw new Error('No memory section');
}

/** LEB128, as all numbers of the format are. */
function readUnsigned(bytes: Buffer, start: number): { value: number; next: number } {
  let value = 0;
  let next = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes.readUInt8(next);
    next += 1;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next };
  }
}

function unsigned(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  do {
    const byte = rest & 0x7f;
    rest >>>= 7;
    out.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return out;
}
