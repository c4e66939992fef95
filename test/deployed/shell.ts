import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

/** One shell that commands are typed into, as a reader of a guide does: names set once stay set. */
export interface Shell extends AsyncDisposable {
  /** Runs a block; `failed` where any command of it failed, the last one or not. */
  run(block: string): Promise<{ readonly failed: boolean; readonly output: string }>;
}

export function openShell(cwd: string, env: Readonly<Record<string, string>>): Shell {
  const child = spawn('bash', ['--noprofile', '--norc'], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let heard = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
      heard();
    });
  child.stdin.write("set -uE -o pipefail\ntrap 'FAILED=1' ERR\n");
  return {
    async run(block) {
      const mark = randomUUID();
      output = '';
      child.stdin.write(`FAILED=0\n${block}\necho "${mark} $FAILED"\n`);
      const end = new RegExp(`${mark} ([01])`);
      for (;;) {
        const [, failed] = end.exec(output) ?? [];
        if (failed !== undefined)
          return { failed: failed === '1', output: output.slice(0, output.indexOf(mark)) };
        if (child.exitCode !== null) return { failed: true, output: `${output}\nThe shell ended.` };
        await new Promise<void>((resolve) => {
          heard = resolve;
          child.once('exit', () => resolve());
        });
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
