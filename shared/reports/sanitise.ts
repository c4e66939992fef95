import type { Scanner } from '#domain/vocabulary.ts';
import { normalisePath } from './normalise.ts';
import { hmac, hmacOfCode, isMasked, isRecord, Redactor, withoutLiterals } from './redact.ts';
import { errorsOf, matchOf, metavariablesOf } from './semgrep.ts';

export { Redactor, secretsIn } from './redact.ts';

export interface SanitiseContext {
  /** The organization's fingerprint key. */
  readonly key: string;
  /**
   * Source lines `start` to `end`, from 1, of a file of the checkout; null where it can't be read
   * (an import has no checkout).
   */
  readonly readLines: (path: string, start: number, end: number) => Promise<readonly string[] | null>;
  /** Secrets found in this run: see `secretsIn`. */
  readonly secrets: ReadonlySet<string>;
  /** What Semgrep puts before the ids of a local rule pack, longest first: `home.me.rules.python.`. */
  readonly rulePrefixes?: readonly string[];
}

type Fields = Record<string, unknown>;

/**
 * What is done to a scanner's raw report before it leaves the machine that ran it: secrets become HMACs,
 * code becomes hashes, and personal data and whatever else the product does not use stay behind. Fields
 * are let through by name, so that a later version of a scanner can't add one that tells too much.
 * A sanitised report comes out of it unchanged. What is no report of that scanner comes out as null.
 */
export async function sanitiseReport(
  scanner: Scanner,
  rawReport: unknown,
  context: SanitiseContext,
): Promise<unknown> {
  const redactor = new Redactor(context.secrets);
  return redactor.json(await SANITISERS[scanner](rawReport, context));
}

const SANITISERS: Readonly<Record<Scanner, (report: unknown, context: SanitiseContext) => Promise<unknown>>> =
  {
    semgrep: sanitiseSemgrep,
    grype: async (report) => sanitiseGrype(report),
    trivy: sanitiseTrivy,
    gitleaks: async (report, context) => sanitiseGitleaks(report, context),
  };

const LEAK_FIELDS = [
  'RuleID',
  'Description',
  'StartLine',
  'EndLine',
  'StartColumn',
  'EndColumn',
  'File',
  'Commit',
  'Date',
  'Tags',
  'secret_hmac',
  'match_hmac',
] as const;

/** Author, e-mail and message stay behind: personal data, and a commit message can quote the secret. */
function sanitiseGitleaks(report: unknown, { key }: SanitiseContext): unknown {
  if (!Array.isArray(report)) return null;
  return report.map((leak: unknown) => {
    if (!isRecord(leak)) return null;
    const { Secret: secret } = leak;
    const own = pick(leak, LEAK_FIELDS);
    const known = typeof secret === 'string' && secret !== '' && !isMasked(secret);
    return known ? { ...own, secret_hmac: hmac(key, secret) } : { ...own, ...hashedLeak(leak, key) };
  });
}

/** Of a secret that is masked, what else tells it: its entropy, which stays as long as it does, and its line. */
function hashedLeak(leak: Fields, key: string) {
  const { Match: match, Entropy: entropy, secret_hmac, match_hmac } = leak;
  if (typeof entropy !== 'number') return hashedMatch(leak, key);
  if (secret_hmac !== undefined || match_hmac !== undefined) return {};
  const line = typeof match === 'string' ? match : '';
  return { match_hmac: hmacOfCode(key, [line, `entropy ${entropy}`]) };
}

async function sanitiseSemgrep(report: unknown, context: SanitiseContext): Promise<unknown> {
  if (!isRecord(report)) return null;
  const { results, errors } = report;
  const sanitised: unknown[] = [];
  // One after the other: the reader keeps the file of the last result open, and results come by file.
  for (const result of listOf(results)) sanitised.push(await sanitiseSemgrepResult(result, context));
  return {
    ...pick(report, ['version', 'paths']),
    ...(Array.isArray(results) && { results: sanitised }),
    // Their messages quote the code that could not be parsed.
    ...(errors !== undefined && { errors: errorsOf(errors).map(sanitiseError) }),
  };
}

function sanitiseError(error: unknown): unknown {
  const { type } = pick(error, ['type']);
  // With a name that has arguments they come behind it: places and texts of the source.
  const [name] = Array.isArray(type) ? type : [type];
  return {
    ...pick(error, ['code', 'level', 'path']),
    ...(typeof name === 'string' && /^[\w ]{1,60}$/.test(name) && { type: name }),
  };
}

async function sanitiseSemgrepResult(result: unknown, context: SanitiseContext): Promise<unknown> {
  if (!isRecord(result) || !isRecord(result.extra)) return null;
  const { extra } = result;
  const code = await codeOf(result, extra, context);
  const quotable = [...(code ?? []), ...metavariablesOf(extra).map(([, content]) => content)];
  const { check_id: id } = result;
  return {
    ...pick(result, ['path', 'start', 'end']),
    ...(typeof id === 'string' && { check_id: withoutPrefix(id, context.rulePrefixes ?? []) }),
    extra: {
      ...pick(extra, ['severity', 'is_ignored', 'code_hash']),
      ...(extra.metadata !== undefined && { metadata: pick(extra.metadata, ['title', 'fix', 'cwe']) }),
      ...(typeof extra.message === 'string' && {
        message: withoutLiterals(extra.message, quotable.join('\n')),
      }),
      ...(extra.code_hash === undefined && code !== null && { code_hash: hmacOfCode(context.key, code) }),
    },
  };
}

/** From the checkout; else, in an import, what the report tells of it. */
async function codeOf(
  result: Fields,
  extra: Fields,
  context: SanitiseContext,
): Promise<readonly string[] | null> {
  if (typeof extra.code_hash === 'string') return null;
  const start = lineOf(result.start, 'line');
  const end = lineOf(result.end, 'line');
  const lines = await readCode(result.path, start, end, context);
  if (lines !== null) return lines;
  const told = matchOf(extra);
  return told === null ? null : [told];
}

function withoutPrefix(id: string, prefixes: readonly string[]): string {
  const prefix = prefixes.find((one) => one !== '' && id.startsWith(one) && id.length > one.length);
  return prefix === undefined ? id : id.slice(prefix.length);
}

/** Its configuration, which names registries and how to sign in to them, stays behind. */
function sanitiseGrype(report: unknown): unknown {
  if (!isRecord(report)) return null;
  const matchFields = ['vulnerability', 'relatedVulnerabilities', 'matchDetails', 'artifact'] as const;
  const { matches } = report;
  return {
    ...(Array.isArray(matches) && {
      matches: matches.map((match: unknown) =>
        isRecord(match)
          ? {
              ...pick(match, matchFields),
              artifact: pick(match.artifact, ['name', 'version', 'type', 'language', 'purl', 'locations']),
            }
          : null,
      ),
    }),
    ...(isRecord(report.descriptor) && {
      descriptor: pick(report.descriptor, ['name', 'version', 'timestamp']),
    }),
  };
}

async function sanitiseTrivy(report: unknown, context: SanitiseContext): Promise<unknown> {
  if (!isRecord(report)) return null;
  const { Results: results } = report;
  const sanitised: unknown[] = [];
  for (const result of listOf(results)) sanitised.push(await sanitiseTrivyTarget(result, context));
  return {
    // Its metadata name the authors of commits.
    ...pick(report, ['SchemaVersion', 'Trivy', 'CreatedAt', 'ArtifactName', 'ArtifactType']),
    ...(Array.isArray(results) && { Results: sanitised }),
  };
}

async function sanitiseTrivyTarget(target: unknown, context: SanitiseContext): Promise<unknown> {
  if (!isRecord(target)) return null;
  const { Packages: packages, Misconfigurations: checks, Secrets: secrets } = target;
  const vulnerable = new Set(listOf(target.Vulnerabilities).map(packageUid));
  const found: unknown[] = [];
  for (const secret of listOf(secrets)) found.push(await sanitiseTrivySecret(target.Target, secret, context));
  const located = listOf(packages)
    .filter((one) => vulnerable.has(packageUid(one)))
    .map((one) => pick(one, ['Name', 'Version', 'Identifier', 'Locations']));
  return {
    ...pick(target, ['Target', 'Class', 'Type', 'Vulnerabilities']),
    // Of the packages only those that a vulnerability points to: their places in the lockfile.
    ...(located.length > 0 && { Packages: located }),
    ...(Array.isArray(checks) && { Misconfigurations: checks.map(sanitiseCheck) }),
    ...(Array.isArray(secrets) && { Secrets: found }),
  };
}

function packageUid(item: unknown): unknown {
  if (!isRecord(item)) return null;
  const identifier = isRecord(item.PkgIdentifier) ? item.PkgIdentifier : item.Identifier;
  return (isRecord(identifier) ? identifier.UID : undefined) ?? Symbol('no uid');
}

function sanitiseCheck(check: unknown): unknown {
  if (!isRecord(check)) return null;
  const { CauseMetadata: cause } = check;
  const fields = [
    'Type',
    'ID',
    'Title',
    'Description',
    'Message',
    'Resolution',
    'Severity',
    'PrimaryURL',
  ] as const;
  return {
    ...pick(check, [...fields, 'Status']),
    ...(isRecord(cause) && {
      CauseMetadata: pick(cause, ['Resource', 'Provider', 'Service', 'StartLine', 'EndLine']),
    }),
  };
}

const TRIVY_SECRET_FIELDS = [
  'RuleID',
  'Category',
  'Severity',
  'Title',
  'StartLine',
  'EndLine',
  'secret_hmac',
  'match_hmac',
] as const;

/** What stands around a secret that the report masks itself; what was hashed before stays as it is. */
function hashedMatch({ Match: match, secret_hmac, match_hmac }: Fields, key: string) {
  const told = typeof match === 'string' && match.trim() !== '';
  if (!told || secret_hmac !== undefined || match_hmac !== undefined) return {};
  return { match_hmac: hmacOfCode(key, [match]) };
}

/**
 * Trivy masks the secret with asterisks, which says nothing of whether it is the same one: its lines do. Where
 * they can't be read (an import), the masked line has to.
 */
async function sanitiseTrivySecret(
  path: unknown,
  secret: unknown,
  context: SanitiseContext,
): Promise<unknown> {
  if (!isRecord(secret)) return null;
  const own = pick(secret, TRIVY_SECRET_FIELDS);
  if (own.secret_hmac !== undefined) return own;
  const code = await readCode(path, lineOf(secret, 'StartLine'), lineOf(secret, 'EndLine'), context);
  if (code !== null) return { ...own, secret_hmac: hmacOfCode(context.key, code) };
  return { ...own, ...hashedMatch(secret, context.key) };
}

async function readCode(path: unknown, start: number | null, end: number | null, context: SanitiseContext) {
  if (typeof path !== 'string' || start === null || end === null || end < start) return null;
  return context.readLines(normalisePath(path), start, end);
}

function lineOf(record: unknown, field: string): number | null {
  const line = isRecord(record) ? record[field] : null;
  return typeof line === 'number' && Number.isInteger(line) && line >= 1 ? line : null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function pick(record: unknown, fields: readonly string[]): Fields {
  if (!isRecord(record)) return {};
  return Object.fromEntries(
    fields.filter((name) => record[name] !== undefined).map((name) => [name, record[name]]),
  );
}
