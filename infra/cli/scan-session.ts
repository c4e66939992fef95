import { setTimeout as sleep } from 'node:timers/promises';
import type * as z from 'zod';
import type { OperationDeclaration } from '#contract/operation.ts';
import { assets } from '#contract/operations/assets.ts';
import { auth } from '#contract/operations/auth.ts';
import { scans } from '#contract/operations/scans.ts';
import type { Finding, Scan, ScanRun } from '#contract/schemas/records.ts';
import { toOpaque } from '#domain/ids.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import { ApiError, type CallInput, type Client } from '#shared/client/client.ts';

type ScanShown = z.output<typeof Scan>;
type FindingShown = z.output<typeof Finding>;
type Run = z.output<typeof ScanRun>;

const FINAL = new Set<ScanShown['status']>(['completed', 'partial', 'failed', 'cancelled']);
/** Requests of a window that polling leaves to the rest of the command, and to whoever shares the pool. */
const RESERVE = 15;

/** A limit that ends within this many seconds is waited out; a longer one is the caller's to decide on. */
const PATIENCE = 90;

/** One scan from registration to its findings, through the public API alone. `say` hears of every wait. */
export function createScanSession(client: Client, say: (line: string) => void) {
  async function call<O extends OperationDeclaration>(operation: O, input: CallInput<O> = {}) {
    for (;;) {
      try {
        return await client.send(operation, input);
      } catch (error) {
        if (!(error instanceof ApiError) || error.retryAfter === null || error.code !== 'rate_limited')
          throw error;
        if (error.retryAfter > PATIENCE) throw new Error(limitReached(error.retryAfter), { cause: error });
        say(`Rate limit reached: going on in ${error.retryAfter} s`);
        await sleep(error.retryAfter * 1000);
      }
    }
  }

  return {
    /** The asset of a clone URL in the caller's organization: made where there is none. Answers its opaque id. */
    async register(name: string, url: string): Promise<string> {
      const { body: me } = await call(auth.operations.getCurrentUser);
      if (me.org_id === null) throw new Error('The credential belongs to no organization');
      const params = { org_id: me.org_id };
      try {
        const { body } = await call(assets.operations.addRepository, { params, body: { name, url } });
        return toOpaque('asset', body.id);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'already_exists') throw error;
      }
      const { body } = await call(assets.operations.listRepositories, { params });
      const held = body.find((repository) => repository.clone_url === url.replace(/\/+$/, ''));
      if (!held) throw new Error('The repository is registered under another form of its URL');
      return toOpaque('asset', held.id);
    },

    async trigger(assetId: string, scanners: readonly Scanner[], branch: string | null): Promise<ScanShown> {
      const { body } = await call(scans.operations.createScan, {
        body: {
          scope: 'asset',
          target_id: assetId,
          scanners: [...scanners],
          ...(branch !== null && { branch }),
        },
      });
      return body;
    },

    /** Follows a scan to its end; `onRun` sees its one run as it goes. */
    async follow(scanId: string, onRun: (run: Run | undefined) => void): Promise<ScanShown> {
      const params = { scan_id: scanId };
      for (;;) {
        const runs = await call(scans.operations.listScanRuns, { params });
        const run = runs.body.data[0];
        onRun(run);
        const ended = run !== undefined && run.finished_at !== null;
        const { body: scan, headers } =
          ended || !run
            ? await call(scans.operations.getScan, { params })
            : { body: null, headers: runs.headers };
        if (scan && FINAL.has(scan.status)) return scan;
        await sleep(pollPause(headers));
      }
    },

    /** Everything that the scan reported, worst first. */
    async findings(scanId: string): Promise<FindingShown[]> {
      const all: FindingShown[] = [];
      for (let page = 1; ; page += 1) {
        const { body } = await call(scans.operations.listScanFindings, {
          params: { scan_id: scanId },
          query: { page, per_page: 100 },
        });
        all.push(...body.data);
        if (all.length >= body.pagination.total || body.data.length === 0) return all;
      }
    },
  };
}

function limitReached(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `The organization's rate limit allows no more for ${minutes} minutes. On a service of your own: npm run admin -- org set-tier default pro`;
}

/** Spreads polling over what is left of the window: lively at first, never into a 429. */
function pollPause(headers: Headers): number {
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? RESERVE + 1) - RESERVE;
  const left = Number(headers.get('x-ratelimit-reset') ?? 0) * 1000 - Date.now();
  const even = remaining > 0 ? left / remaining : left;
  return Math.min(5000, Math.max(300, even));
}
