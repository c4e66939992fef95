import fs, { chmodSync } from 'node:fs';

export function publish(path: string): void {
  // ruleid: javascript-world-writable
  chmodSync(path, 0o777);
  // ruleid: javascript-world-writable
  fs.chmod(`${path}.log`, '666', () => {});
}

export function publishFixed(path: string): void {
  // ok: javascript-world-writable
  chmodSync(path, 0o750);
  // ok: javascript-world-writable
  fs.writeFileSync(`${path}.log`, '', { mode: 0o600 });
}
