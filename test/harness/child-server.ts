import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 100;

/** A port of loopback that nobody listens at: for servers that can't choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Waits for a server that says nothing when it listens.
 * @param isThere whether an answer is one that was waited for; any is, by default
 * @throws Error that names `what`, where it does not answer within `withinMs`
 */
export async function untilAnswering(
  what: string,
  url: string,
  withinMs: number,
  isThere: (answer: Response) => boolean = () => true,
): Promise<void> {
  const deadline = AbortSignal.timeout(withinMs);
  for (;;) {
    const there = await fetch(url, { signal: deadline }).then(isThere, () => false);
    if (there) return;
    if (deadline.aborted) throw new Error(`${what} did not start within ${withinMs / 1000} s`);
    await sleep(POLL_MS);
  }
}

/** Ends a child that has nothing to save, and all of its group where it leads one. */
export async function endChild(child: ChildProcess, group = false): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(group ? -child.pid : child.pid, 'SIGKILL');
  await ended;
}
