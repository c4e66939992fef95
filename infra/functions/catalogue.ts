import type { SettingName } from '#shared/config.ts';
import type { POLICY_ASSETS } from '#shared/policy/files.ts';

type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'BatchWriteItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';

/** What a function may do, besides writing its own log. Whatever is not said here is denied. */
export interface Grants {
  /** Actions on the table and its indexes. There is no `Scan` (design 1). */
  readonly table: readonly TableAction[];
  readonly send: readonly (
    | 'scan-requests'
    | 'run-dispatch'
    | 'deletions'
    | 'imports'
    | 'exports'
    | 'reevaluations'
  )[];
  readonly secrets: readonly ('token' | 'fingerprint' | 'integration' | 'cursor')[];
  readonly reports: 'none' | 'read' | 'download' | 'upload' | 'convert' | 'purge';
  /** The scanners' databases: `address` signs addresses for the runners, `keep` puts new ones in their place. */
  readonly databases: 'none' | 'address' | 'keep';
  readonly executions: readonly ('start' | 'stop' | 'describe')[];
}

/** How a function is declared; `functions/<name>/handler.ts` exports its `handler`. */
export interface FunctionDeclaration {
  /** MB; CPU comes in proportion, one whole core at 1,769. */
  readonly memory: number;
  readonly timeoutSeconds: number;
  /** Exactly what its handler reads through `readConfig` (held by a test). */
  readonly settings: readonly SettingName[];
  readonly may: Grants;
  /** What of the policy engine its bundle brings along, in `POLICY_ASSETS_DIR`. */
  readonly policyAssets?: readonly (keyof typeof POLICY_ASSETS)[];
  /** It measures (`shared/metrics.ts`), and has to know in whose name. */
  readonly measures?: true;
  /** Its bundle brings along the thread that reports are read in. */
  readonly readsReports?: true;
}

const NOTHING: Grants = {
  table: [],
  send: [],
  secrets: [],
  reports: 'none',
  databases: 'none',
  executions: [],
};
const READ = ['GetItem', 'BatchGetItem', 'Query'] as const;
const CHANGE = ['PutItem', 'UpdateItem', 'DeleteItem'] as const;
/** A transaction needs the action of each write in it, and ConditionCheckItem for its checks. */
const WRITE = [...READ, ...CHANGE, 'ConditionCheckItem'] as const;

/** Answers before the gateway's 30 s would (design 2). */
const API_SECONDS = 29;
const api = { memory: 1024, timeoutSeconds: API_SECONDS };

/** Every function of the deployment. Adding one forces you to say what it reads and may do. */
export const FUNCTIONS = {
  // Runs before every request: half a core keeps its cold start and its signatures short.
  authorizer: {
    memory: 1024,
    timeoutSeconds: 10,
    settings: ['TABLE_NAME', 'TOKEN_SECRET_ARN', 'ASPM_RATE_LIMIT_FACTOR', 'ASPM_OIDC_ISSUERS'],
    // It puts audit entries of keys that were refused, and binds identities to users.
    may: { ...NOTHING, table: [...READ, 'UpdateItem', 'PutItem'], secrets: ['token'] },
    measures: true,
  },
  auth: {
    // A whole core: a password hash costs 50 ms of it.
    memory: 1769,
    timeoutSeconds: API_SECONDS,
    settings: ['TABLE_NAME', 'TOKEN_SECRET_ARN', 'ASPM_RATE_LIMIT_FACTOR'],
    may: { ...NOTHING, table: WRITE, secrets: ['token'] },
  },
  organizations: {
    // A whole core: making a user hashes a password.
    memory: 1769,
    timeoutSeconds: API_SECONDS,
    settings: [
      'TABLE_NAME',
      'COUNTER_LANES',
      'ASPM_DEFAULT_TIER',
      'ASPM_ORG_CREATION',
      'ASPM_ORG_CREATION_CAP',
      'DELETION_QUEUE_URL',
    ],
    may: { ...NOTHING, table: [...WRITE, 'BatchWriteItem'], send: ['deletions'] },
  },
  'api-keys': {
    ...api,
    settings: ['TABLE_NAME'],
    // Keys are revoked, and stay.
    may: { ...NOTHING, table: [...READ, 'PutItem', 'UpdateItem', 'ConditionCheckItem'] },
  },
  projects: { ...api, settings: ['TABLE_NAME', 'COUNTER_LANES'], may: { ...NOTHING, table: WRITE } },
  assets: {
    ...api,
    settings: [
      'TABLE_NAME',
      'COUNTER_LANES',
      'SCAN_QUEUE_URL',
      'DELETION_QUEUE_URL',
      'SCANNERS',
      'ASPM_ALLOW_LOCAL_REPOSITORIES',
      'ASPM_ALLOW_PRIVATE_ADDRESSES',
    ],
    may: { ...NOTHING, table: WRITE, send: ['scan-requests', 'deletions'] },
  },
  integrations: {
    ...api,
    settings: ['TABLE_NAME', 'INTEGRATION_SECRET_ARN', 'ASPM_ALLOW_PRIVATE_ADDRESSES'],
    may: { ...NOTHING, table: ['GetItem', 'Query', 'PutItem', 'DeleteItem'], secrets: ['integration'] },
  },
  scans: {
    ...api,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'SCAN_QUEUE_URL', 'DELETION_QUEUE_URL'],
    may: { ...NOTHING, table: WRITE, send: ['scan-requests', 'deletions'] },
  },
  findings: {
    ...api,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'CURSOR_SECRET_ARN', 'REEVALUATION_QUEUE_URL'],
    may: { ...NOTHING, table: WRITE, send: ['reevaluations'], secrets: ['cursor'] },
  },
  imports: {
    // A whole core: a report of 100 MB is unpacked and read in one request.
    memory: 3008,
    timeoutSeconds: API_SECONDS,
    settings: [
      'TABLE_NAME',
      'COUNTER_LANES',
      'FINGERPRINT_SECRET_ARN',
      'REPORT_BUCKET_URL',
      'IMPORT_QUEUE_URL',
    ],
    may: {
      ...NOTHING,
      table: ['GetItem', 'Query', 'PutItem', 'UpdateItem'],
      send: ['imports'],
      secrets: ['fingerprint'],
      reports: 'upload',
    },
    readsReports: true,
  },
  exports: {
    ...api,
    settings: ['TABLE_NAME', 'REPORT_BUCKET_URL', 'EXPORT_QUEUE_URL'],
    // It signs downloads, so it must be allowed to make them itself.
    may: { ...NOTHING, table: ['GetItem', 'PutItem'], send: ['exports'], reports: 'download' },
  },
  policies: {
    // A whole core, and room for OPA: it takes 40 MB of code and up to 512 MB of memory.
    memory: 1769,
    timeoutSeconds: API_SECONDS,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'POLICY_ASSETS_DIR', 'REEVALUATION_QUEUE_URL'],
    may: { ...NOTHING, table: WRITE, send: ['reevaluations'] },
    policyAssets: ['reactor'],
  },
  // Needs no table: the document and the page come from the bundle.
  reference: { ...api, settings: ['PUBLIC_URL', 'ASSETS_DIR'], may: NOTHING },
  'runner-gate': {
    ...api,
    settings: [
      'TABLE_NAME',
      'COUNTER_LANES',
      'TOKEN_SECRET_ARN',
      'FINGERPRINT_SECRET_ARN',
      'REPORT_BUCKET_URL',
      'ASPM_ALLOW_LOCAL_REPOSITORIES',
      'ASPM_ALLOW_PRIVATE_ADDRESSES',
    ],
    may: {
      ...NOTHING,
      table: ['GetItem', 'UpdateItem'],
      secrets: ['token', 'fingerprint'],
      // It signs uploads and downloads, so it must be allowed to make them itself.
      reports: 'upload',
      databases: 'address',
    },
  },
  'scan-planner': {
    memory: 1024,
    timeoutSeconds: 120,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'SCAN_QUEUE_URL', 'DISPATCH_QUEUE_URL'],
    may: { ...NOTHING, table: [...READ, ...CHANGE], send: ['scan-requests', 'run-dispatch'] },
    measures: true,
  },
  'run-dispatcher': {
    memory: 512,
    timeoutSeconds: 60,
    settings: ['TABLE_NAME', 'RUN_STATE_MACHINE_ARN', 'ASPM_MAX_RUNNERS'],
    may: { ...NOTHING, table: ['GetItem', 'Query', ...CHANGE, 'ConditionCheckItem'], executions: ['start'] },
    measures: true,
  },
  'ingest-report': {
    // 25,000 results are parsed and diffed in memory.
    memory: 3008,
    timeoutSeconds: 900,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'REPORT_BUCKET_URL', 'POLICY_ASSETS_DIR'],
    may: { ...NOTHING, table: WRITE, reports: 'read' },
    policyAssets: ['bulk', 'reactor'],
    readsReports: true,
  },
  'take-upload': {
    // A report of 100 MB, and the thread that reads it.
    memory: 3008,
    timeoutSeconds: 300,
    settings: ['TABLE_NAME', 'FINGERPRINT_SECRET_ARN', 'REPORT_BUCKET_URL', 'IMPORT_QUEUE_URL'],
    may: {
      ...NOTHING,
      table: ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      send: ['imports'],
      secrets: ['fingerprint'],
      reports: 'convert',
    },
    readsReports: true,
    measures: true,
  },
  'ingest-import': {
    memory: 3008,
    timeoutSeconds: 900,
    settings: [
      'TABLE_NAME',
      'COUNTER_LANES',
      'REPORT_BUCKET_URL',
      'POLICY_ASSETS_DIR',
      'IMPORT_QUEUE_URL',
      'SCAN_QUEUE_URL',
      'DISPATCH_QUEUE_URL',
    ],
    may: {
      ...NOTHING,
      table: WRITE,
      // Its own queue too: an import that has to wait goes to the end of it.
      send: ['imports', 'scan-requests', 'run-dispatch'],
      reports: 'read',
    },
    policyAssets: ['bulk', 'reactor'],
    readsReports: true,
    measures: true,
  },
  'export-findings': {
    memory: 1769,
    timeoutSeconds: 900,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'REPORT_BUCKET_URL'],
    may: { ...NOTHING, table: [...READ, 'UpdateItem', 'DeleteItem'], reports: 'upload' },
    measures: true,
  },
  'reevaluate-findings': {
    // A whole core, and room for OPA where a policy needs it.
    memory: 1769,
    timeoutSeconds: 120,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'POLICY_ASSETS_DIR', 'REEVALUATION_QUEUE_URL'],
    // Its own queue too: what takes longer than a turn goes to the end of it.
    may: { ...NOTHING, table: WRITE, send: ['reevaluations'] },
    policyAssets: ['bulk', 'reactor'],
    measures: true,
  },
  'finish-run': {
    memory: 512,
    timeoutSeconds: 60,
    settings: ['TABLE_NAME', 'SCAN_QUEUE_URL', 'DISPATCH_QUEUE_URL'],
    may: { ...NOTHING, table: ['GetItem', 'Query', ...CHANGE], send: ['scan-requests', 'run-dispatch'] },
    measures: true,
  },
  deleter: {
    memory: 512,
    timeoutSeconds: 60,
    settings: ['TABLE_NAME', 'COUNTER_LANES', 'DELETION_QUEUE_URL', 'REPORT_BUCKET_URL'],
    may: {
      ...NOTHING,
      table: [...READ, 'BatchWriteItem', 'DeleteItem', 'UpdateItem'],
      send: ['deletions'],
      reports: 'purge',
    },
    measures: true,
  },
  'suppression-clock': {
    memory: 512,
    // Shorter than the minute to its next start.
    timeoutSeconds: 55,
    settings: ['TABLE_NAME', 'COUNTER_LANES'],
    may: { ...NOTHING, table: WRITE },
  },
  'vulnerability-feeds': {
    // 330,000 scores in memory.
    memory: 1024,
    timeoutSeconds: 600,
    settings: ['TABLE_NAME', 'ASPM_EPSS_URL', 'ASPM_KEV_URL', 'REEVALUATION_QUEUE_URL'],
    may: {
      ...NOTHING,
      table: [...READ, 'BatchWriteItem', 'UpdateItem', 'DeleteItem'],
      send: ['reevaluations'],
    },
    measures: true,
  },
  'scanner-databases': {
    memory: 512,
    timeoutSeconds: 600,
    settings: ['REPORT_BUCKET_URL', 'ASPM_GRYPE_DATABASE_URL', 'ASPM_TRIVY_DATABASE_URL'],
    may: { ...NOTHING, databases: 'keep' },
    measures: true,
  },
  sweep: {
    memory: 512,
    // Shorter than the minute to its next start.
    timeoutSeconds: 55,
    settings: [
      'TABLE_NAME',
      'SCAN_QUEUE_URL',
      'DISPATCH_QUEUE_URL',
      'DELETION_QUEUE_URL',
      'IMPORT_QUEUE_URL',
      'EXPORT_QUEUE_URL',
      'REEVALUATION_QUEUE_URL',
      'RUN_STATE_MACHINE_ARN',
    ],
    may: {
      ...NOTHING,
      table: WRITE,
      send: ['scan-requests', 'run-dispatch', 'deletions', 'imports', 'exports', 'reevaluations'],
      executions: ['stop', 'describe'],
    },
    measures: true,
  },
} as const satisfies Record<string, FunctionDeclaration>;

export type FunctionName = keyof typeof FUNCTIONS;
export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as FunctionName[];
