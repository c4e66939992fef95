import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as z from 'zod';
import { runnerGate } from '#contract/operations/runner-gate.ts';
import type { Scanner } from '#domain/vocabulary.ts';

const { claimRun, reportProgress, createReportUpload } = runnerGate.operations;

export type RunnerJob = z.output<typeof claimRun.response.schema>;
export type RunnerEvent = z.input<typeof reportProgress.body>['event'];

const ATTEMPTS = 5;

/** What the service answered; the message names the status and nothing else. */
export class GateError extends Error {
  override readonly name: string = 'GateError';
}

/** The service refused: trying again would change nothing. */
class Refused extends GateError {
  override readonly name = 'Refused';
}

/**
 * The runner's side of its conversation with the service. Faults of the network and 429, 5xx are tried
 * again with growing waits (0.2 to 1.6 s); the token appears in no message.
 */
export function createGateClient(apiUrl: string) {
  let token = '';

  async function post<Schema extends z.ZodType>(
    path: string,
    body: unknown,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const answer = await withRetries(() =>
      fetch(`${apiUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      }),
    );
    return schema.parse(await answer.json());
  }

  return {
    /** Trades the one-time claim for the job; later calls carry the token that comes with it. */
    async claim(orgId: string, runId: string, claim: string): Promise<RunnerJob> {
      const job = await post(
        claimRun.path,
        { org_id: orgId, run_id: runId, claim },
        claimRun.response.schema,
      );
      token = job.token;
      return job;
    },

    /** Reports an event; answers whether the scan was cancelled. */
    async report(event: RunnerEvent): Promise<boolean> {
      const answer = await post(reportProgress.path, { token, event }, reportProgress.response.schema);
      return answer.cancelled;
    },

    /** Uploads a gzipped report to a presigned address of exactly its size. */
    async upload(scanner: Scanner, gzippedPath: string): Promise<void> {
      const bytes = await readFile(gzippedPath);
      const target = await post(
        createReportUpload.path,
        { token, scanner, bytes: bytes.length },
        createReportUpload.response.schema,
      );
      await withRetries(() =>
        fetch(target.url, {
          method: 'PUT',
          headers: target.headers,
          body: bytes,
          signal: AbortSignal.timeout(300_000),
        }),
      );
    },
  };
}

export type GateClient = ReturnType<typeof createGateClient>;

async function withRetries(request: () => Promise<Response>): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await request();
      if (response.ok) return response;
      await response.body?.cancel();
      if (response.status < 500 && response.status !== 429)
        throw new Refused(`The service answered ${response.status}`);
      if (attempt >= ATTEMPTS) throw new GateError(`The service answered ${response.status}`);
    } catch (error) {
      if (error instanceof Refused || attempt >= ATTEMPTS) throw error;
    }
    await sleep(100 * 2 ** attempt);
  }
}
