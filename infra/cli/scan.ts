import { open, stat, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as z from 'zod';
import type { Finding, Scan } from '#contract/schemas/records.ts';
import { SCANNERS, type Scanner, SEVERITIES } from '#domain/vocabulary.ts';
import { locateScanner } from '#functions/scanner-runner/locate.ts';
import { QUICK_SCANNERS } from '#functions/scanner-runner/versions.ts';
import { createClient } from '#shared/client/client.ts';
import { toSarif } from '#shared/export/sarif.ts';
import { readScanArguments, SCAN_USAGE, type ScanArguments } from './arguments.ts';
import { countsLine, findingsTable } from './findings-table.ts';
import { createScanProgress } from './scan-progress.ts';
import { createScanSession } from './scan-session.ts';
import { ensureScanners } from './scanners/ensure.ts';
import { ProgressView } from './scanners/progress.ts';
import { type Connection, connectOrStart } from './service.ts';
import { createPaint, plain } from './terminal.ts';

type ScanShown = z.output<typeof Scan>;
type FindingShown = z.output<typeof Finding>;

const say = (text: string) => process.stderr.write(`${text}\n`);
const paintResult = createPaint(process.stdout);
const paintProgress = createPaint(process.stderr);

process.exitCode = await main(process.argv.slice(2));

/** `npm run scan`. Answers the exit code: 0 done, 1 findings at or over `--fail-on`, 2 failed. */
async function main(words: readonly string[]): Promise<number> {
  const wanted = readScanArguments(words);
  if (wanted === 'help') {
    console.log(SCAN_USAGE);
    return 0;
  }
  if ('problem' in wanted) {
    say(`${wanted.problem}\n\n${SCAN_USAGE}`);
    return 2;
  }
  try {
    return await scanAndShow(wanted);
  } catch (error) {
    say(paintProgress(`Failed: ${plain(error instanceof Error ? error.message : String(error))}`, 'red'));
    return 2;
  }
}

async function scanAndShow(wanted: ScanArguments): Promise<number> {
  const { url, name } = await readTarget(wanted.target);
  const sarif = wanted.sarif === null ? null : await openForWriting(resolve(startedIn(), wanted.sarif));
  const scanners = await chooseScanners(wanted.scanners);
  const connection = await connectOrStart(say);
  const session = createScanSession(
    createClient({ url: connection.url, credential: connection.apiKey }),
    say,
  );
  const assetId = await session.register(name, url);
  const queued = await session.trigger(assetId, scanners, wanted.branch);
  say(`Scanning ${plain(wanted.target)} with ${scanners.join(', ')}`);
  const progress = createScanProgress(process.stderr, paintProgress);
  const scan = await session.follow(queued.id, (run) => progress.show(run)).finally(() => progress.end());
  const findings = await session.findings(scan.id);
  if (sarif !== null) await writeFile(sarif, JSON.stringify(toSarif(findings), null, 2));
  if (wanted.json) console.log(JSON.stringify({ scan, findings }, null, 2));
  else showResult(scan, findings, connection);
  return exitCode(scan, findings, wanted);
}

/** npm runs scripts in the project's folder: paths are meant from where the command was typed. */
function startedIn(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

/** Found out before the scan rather than after it: a file that can't be written. */
async function openForWriting(path: string): Promise<string> {
  await (await open(path, 'a')).close();
  return path;
}

async function readTarget(target: string): Promise<{ url: string; name: string }> {
  if (/^https?:\/\//i.test(target)) {
    const { pathname, hostname } = new URL(target);
    return { url: target, name: pathname.replace(/^\/+|\/+$|\.git\/*$/g, '') || hostname };
  }
  const path = resolve(startedIn(), target.replace(/^file:\/\//i, ''));
  const found = await stat(path).catch(() => null);
  if (!found?.isDirectory()) throw new Error(`${target} is no folder of this machine, and no http(s) URL`);
  return { url: pathToFileURL(path).href, name: basename(path) };
}

/** Those asked for; else those that are installed; else the two that install quickly. */
async function chooseScanners(asked: readonly Scanner[] | null): Promise<readonly Scanner[]> {
  if (asked) return asked;
  const located = await Promise.all(
    SCANNERS.map(async (scanner) => ((await locateScanner(scanner)) ? scanner : null)),
  );
  const there = located.filter((scanner) => scanner !== null);
  if (there.length > 0) {
    if (there.length < SCANNERS.length) say(missingNote(there));
    return there;
  }
  say(`No scanner is installed yet: installing ${QUICK_SCANNERS.join(' and ')} (about a minute).`);
  using view = new ProgressView(process.stderr);
  const outcomes = await ensureScanners(QUICK_SCANNERS, { onProgress: view.show });
  const installed = outcomes
    .filter((outcome) => outcome.status !== 'failed')
    .map((outcome) => outcome.scanner);
  if (installed.length === 0) throw new Error('No scanner could be installed; the lines above say why');
  say(missingNote(installed));
  return installed;
}

function missingNote(there: readonly Scanner[]): string {
  const missing = SCANNERS.filter((scanner) => !there.includes(scanner));
  return `Not installed: ${missing.join(', ')}. Get them with: npm run scanners -- ${missing.join(' ')}`;
}

function showResult(scan: ScanShown, findings: readonly FindingShown[], connection: Connection): void {
  const shown = findings.filter((finding) => finding.status !== 'suppressed');
  const width = process.stdout.columns ?? 100;
  // A scan in which something failed is never called clean.
  const nothing =
    scan.status === 'completed'
      ? paintResult('No findings.', 'green')
      : paintResult('No findings, but not everything was checked:', 'yellow');
  console.log(`\n${shown.length === 0 ? nothing : findingsTable(shown, paintResult, width)}\n`);
  for (const failure of scan.error?.details ?? [])
    console.log(
      paintResult(
        `${failure.scanner ?? 'checkout'} failed (${failure.code}): ${plain(failure.message)}`,
        'red',
      ),
    );
  const hidden = findings.length - shown.length;
  console.log(`Findings:  ${countsLine(shown)}${hidden > 0 ? ` (${hidden} suppressed not shown)` : ''}`);
  console.log(
    `Scan:      ${scan.status}, ${scan.new_count} new, ${scan.resolved_count} resolved${hiddenIn(scan)}${scan.commit ? `, commit ${scan.commit.slice(0, 12)} (what is not committed is not scanned)` : ''}`,
  );
  console.log(`API:       ${connection.url}/api/scans/${scan.id}/findings`);
  console.log(`Reference: ${connection.url}/docs`);
  if (connection.admin) console.log(`Sign in:   ${connection.admin}`);
  if (connection.started)
    console.log('The service keeps running in the background; stop it with: npm run stop');
}

function hiddenIn({ suppressed_in_repository_count: hidden }: ScanShown): string {
  return hidden > 0 ? `, ${hidden} hidden by the repository` : '';
}

function exitCode(scan: ScanShown, findings: readonly FindingShown[], wanted: ScanArguments): number {
  if (scan.status !== 'completed') return 2;
  const { failOn } = wanted;
  if (failOn === null) return 0;
  const worstAllowed = SEVERITIES.indexOf(failOn);
  const over = findings.some(
    (finding) => finding.status !== 'suppressed' && SEVERITIES.indexOf(finding.severity) <= worstAllowed,
  );
  return over ? 1 : 0;
}
