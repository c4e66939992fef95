import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Scanner } from '#domain/vocabulary.ts';
import { runnerReport } from '#shared/reports/runner-report.ts';
import { type ClonableBy, type Clone, CloneError, cloneRepository } from './clone.ts';
import { takeDatabases } from './databases.ts';
import { wayOut } from './egress.ts';
import { trustedHosts } from './environment.ts';
import type { GateClient, RunnerEvent, RunnerJob } from './gate-client.ts';
import { runError, runInfo } from './run-log.ts';
import { scanCheckout } from './scan-checkout.ts';

const zip = promisify(gzip);

/** A clone that takes longer is stuck; the scan's own deadline may come before. */
const CLONE_TIMEOUT = 600_000;

/** How soon a cancelled scan is noticed: "within seconds". */
const HEARTBEAT = 2000;

/** Clones, scans, and hands over each report as soon as it is ready; every failure is told, none thrown for it. */
export async function runJob(
  job: RunnerJob,
  gate: GateClient,
  folder: string,
  stop: AbortController,
): Promise<void> {
  const heartbeat = setInterval(() => void beat(gate, stop), HEARTBEAT);
  try {
    const checkout = join(folder, 'checkout');
    // Beside the clone, which waits for another host.
    const databases = takeDatabases(job, join(folder, 'databases'), process.env, stop.signal);
    databases.catch(() => undefined);
    const clone = await cloneOrTell(job, checkout, gate, stop.signal);
    if (!clone || stop.signal.aborted) return;
    const told: Promise<unknown>[] = [
      gate.report({
        type: 'checkout',
        commit: clone.commit,
        branch: clone.branch,
        head_branch: clone.headBranch,
      }),
    ];
    // Scanners read addresses in the repository (of registries, of modules): these must lead nowhere that a clone could not.
    await using outside = await wayOut(process.env, {
      policy: job.reachable,
      trusted: trustedHosts(process.env),
    });
    await scanCheckout({
      checkout,
      env: { ...outside.env, ...(await databases) },
      scanners: job.scanners,
      key: job.fingerprint_key,
      deadline: Date.parse(job.deadline),
      signal: stop.signal,
      exclusions: job.repository_exclusions,
      onReport: (scanner, { report, beside, findings, durationMs }) =>
        handOver(scanner, runnerReport(report, beside), { findings, durationMs }, gate, folder),
      onProgress: (scanner, event) => {
        if (event.type === 'finished') return;
        if (event.type === 'failed') runError('scanner failed', { scanner, code: event.code });
        told.push(gate.report(toRunnerEvent(scanner, event)));
      },
    });
    await Promise.all(told);
  } finally {
    clearInterval(heartbeat);
  }
}

/** A missed heartbeat is no reason to stop: the service may be restarting. */
async function beat(gate: GateClient, stop: AbortController): Promise<void> {
  const cancelled = await gate.report({ type: 'heartbeat' }).catch(() => false);
  if (cancelled) stop.abort();
}

async function cloneOrTell(
  job: RunnerJob,
  into: string,
  gate: GateClient,
  signal: AbortSignal,
): Promise<Clone | null> {
  const started = performance.now();
  const protocols: ClonableBy[] = job.allow_local ? ['https', 'http', 'file'] : ['https', 'http'];
  try {
    const clone = await cloneRepository({
      url: job.clone_url,
      branch: job.branch ?? undefined,
      into,
      history: job.scanners.includes('gitleaks'),
      protocols,
      network: { policy: job.reachable },
      limits: { timeoutMs: Math.min(CLONE_TIMEOUT, Math.max(1, Date.parse(job.deadline) - Date.now())) },
      signal,
    });
    runInfo('repository cloned', { duration_ms: since(started) });
    return clone;
  } catch (error) {
    if (!(error instanceof CloneError)) throw error;
    if (error.detail !== null) runError('clone failed', { detail: error.detail });
    await gate.report({ type: 'clone_failed', message: error.message.slice(0, 2000) });
    return null;
  }
}

async function handOver(
  scanner: Scanner,
  report: unknown,
  scanned: { readonly findings: number; readonly durationMs: number },
  gate: GateClient,
  folder: string,
): Promise<void> {
  const path = join(folder, `${scanner}.json.gz`);
  // Level 1: reports shrink twentyfold either way, and nobody waits for the rest.
  const zipped = await zip(JSON.stringify(report), { level: 1 });
  await writeFile(path, zipped, { mode: 0o600 });
  await gate.upload(scanner, path);
  runInfo('report handed over', {
    scanner,
    findings: scanned.findings,
    bytes: zipped.length,
    duration_ms: scanned.durationMs,
  });
  await gate.report({
    type: 'reported',
    scanner,
    finding_count: scanned.findings,
    duration_ms: scanned.durationMs,
  });
}

function since(started: number): number {
  return Math.round(performance.now() - started);
}

function toRunnerEvent(
  scanner: Scanner,
  event:
    | { readonly type: 'started' }
    | {
        readonly type: 'failed';
        readonly code: string;
        readonly message: string;
        readonly durationMs: number;
      },
): RunnerEvent {
  if (event.type === 'started') return { type: 'started', scanner };
  return {
    type: 'failed',
    scanner,
    code: event.code,
    message: event.message.slice(0, 2000),
    duration_ms: event.durationMs,
  };
}
