import * as z from 'zod';
import { type AddressPolicy, isNetwork } from '#domain/addresses.ts';

/**
 * The settings that functions read from their environment: declared here once, set by
 * `infra/` for each function, parsed at cold start by `readConfig`. Nothing else in the
 * functions reads `process.env` (the AWS SDK does, for its own `AWS_…` names).
 */
const flag = z
  .enum(['0', '1'])
  .default('0')
  .transform((value) => value === '1');

/** Private networks that may be reached: none (`0`), all (`1`), or those listed, comma-separated, in CIDR notation. */
export const AddressPolicySetting = z
  .string()
  .default('0')
  .transform((value, context): AddressPolicy => {
    if (value === '0' || value === '') return 'public';
    if (value === '1') return 'all';
    const networks = value.split(',').map((network) => network.trim());
    if (networks.every(isNetwork)) return networks;
    context.issues.push({
      code: 'custom',
      input: value,
      message: 'must be 0, 1 or networks such as 10.20.0.0/16',
    });
    return z.NEVER;
  });

/** Text that has to be JSON of the schema's shape. */
function json<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.issues.push({ code: 'custom', input: text, message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);
}

/** An address of this very machine, which needs no TLS. */
export function isOfThisMachine(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/.test(url);
}

/** Identity providers whose tokens are accepted: https, or http on this very machine. */
export const OidcIssuers = z
  .array(
    z.object({
      issuer: z
        .url()
        .refine((url) => url.startsWith('https:') || isOfThisMachine(url), 'must be an https address'),
      /** What a token's `aud` must have: our client id at the provider, or the API's name there. */
      audience: z.string().min(1),
      /** Ids or slugs of the only organizations that it speaks for; without: for all. */
      organizations: z.array(z.string().min(1)).min(1).optional(),
      /** Domains of the only e-mails that it speaks for; without: for all. */
      email_domains: z
        .array(z.string().regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/, 'must be a domain in lower case'))
        .min(1)
        .optional(),
    }),
  )
  .max(20)
  .refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    'must name an issuer once: its bounds would be those of another entry',
  );
export const OidcIssuersAsText = json(OidcIssuers);
export type OidcIssuer = z.output<typeof OidcIssuers>[number];

export const EPSS_URL = 'https://epss.empiricalsecurity.com/epss_scores-current.csv.gz';
/** Where Grype's vulnerability database is published: the folder of its listing. */
export const GRYPE_DATABASE_URL = 'https://grype.anchore.io/databases';
/** Trivy's, in a registry of container images that AWS keeps a mirror of: `https://HOST/REPOSITORY:TAG`. */
export const TRIVY_DATABASE_URL = 'https://public.ecr.aws/aquasecurity/trivy-db:2';
export const KEV_URL = 'https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json';

const settings = {
  /** Name of the one DynamoDB table. */
  TABLE_NAME: z.string().min(1),
  /** Counters of an organization and its projects are kept in this many lanes (see docs/data-model.md). */
  COUNTER_LANES: z.coerce.number().int().min(1).max(32).default(8),
  /** Secret that signs access, refresh and runner tokens: ARN of a Secrets Manager secret. */
  TOKEN_SECRET_ARN: z.string().min(1),
  /** Secret from which each organization's fingerprint key is derived. It never rotates: identities hang on it. */
  FINGERPRINT_SECRET_ARN: z.string().min(1),
  /** Secret from which the keys that seal integrations' secrets are derived. It never rotates: they would be lost. */
  INTEGRATION_SECRET_ARN: z.string().min(1),
  /** Secret that authenticates the cursors of lists. A new value ends the lists that are being gone through, no more. */
  CURSOR_SECRET_ARN: z.string().min(1),
  /** Public address of the API, without a slash at the end. */
  PUBLIC_URL: z.url(),
  SCAN_QUEUE_URL: z.url(),
  DISPATCH_QUEUE_URL: z.url(),
  DELETION_QUEUE_URL: z.url(),
  IMPORT_QUEUE_URL: z.url(),
  EXPORT_QUEUE_URL: z.url(),
  REEVALUATION_QUEUE_URL: z.url(),
  /** The state machine that runs one (scan, asset). */
  RUN_STATE_MACHINE_ARN: z.string().min(1),
  /** Address of the bucket of raw reports, without a slash at the end. */
  REPORT_BUCKET_URL: z.url(),
  /** Tier of a new organization. */
  ASPM_DEFAULT_TIER: z.enum(['free', 'pro', 'enterprise']).default('free'),
  /** Who may make organizations: any user, admins of one, or the operator alone. */
  ASPM_ORG_CREATION: z.enum(['anyone', 'admins', 'operator']).default('operator'),
  /** How many organizations one user may make. */
  ASPM_ORG_CREATION_CAP: z.coerce.number().int().min(0).default(10),
  /** Multiplies every rate limit: for benches and load tests. */
  ASPM_RATE_LIMIT_FACTOR: z.coerce.number().positive().default(1),
  /** JSON array of `{issuer, audience, organizations?, email_domains?}`: identity providers whose tokens are accepted beside our own. */
  ASPM_OIDC_ISSUERS: OidcIssuersAsText.prefault('[]'),
  /** Runners that run at once, over all organizations; 0: as many as their tiers allow. */
  ASPM_MAX_RUNNERS: z.coerce.number().int().min(0).max(10_000).default(0),
  /** `file:` URLs and plain paths as clone URLs: the embedded cloud alone sets it. */
  ASPM_ALLOW_LOCAL_REPOSITORIES: flag,
  /** Private networks that clones and callbacks may reach: for tests and closed networks. */
  ASPM_ALLOW_PRIVATE_ADDRESSES: AddressPolicySetting,
  /** Daily feeds: FIRST's current EPSS scores (CSV, gzip), CISA's known exploited vulnerabilities (JSON). */
  ASPM_EPSS_URL: z.url().default(EPSS_URL),
  ASPM_KEV_URL: z.url().default(KEV_URL),
  /** Where the databases that are kept for the runners come from; empty: none is kept, and scanners get their own. */
  ASPM_GRYPE_DATABASE_URL: z.union([z.literal(''), z.url()]).default(''),
  ASPM_TRIVY_DATABASE_URL: z.union([z.literal(''), z.url()]).default(''),
  /** Folder of the reference page's third-party files (Swagger UI); relative to the function's own folder. */
  ASSETS_DIR: z.string().min(1),
  /** Folder of what the policy engine loads at run time, beside the bundle; empty: the sources. */
  POLICY_ASSETS_DIR: z.string().default(''),
  /** Scanners that the deployment has, comma-separated: the default where a request names none. */
  SCANNERS: z
    .string()
    .default('semgrep,grype,trivy,gitleaks')
    .transform((value) => value.split(',').filter((name) => name !== ''))
    .pipe(z.array(z.enum(['semgrep', 'grype', 'trivy', 'gitleaks'])).min(1)),
} as const;

export type SettingName = keyof typeof settings;
export type Config<N extends SettingName> = { [K in N]: z.output<(typeof settings)[K]> };

/**
 * Parses the named settings; every unusable one is listed in the one error thrown.
 * @throws Error naming each setting and what is wrong with it, never its value.
 */
export function readConfig<const N extends SettingName>(
  names: readonly N[],
  environment: NodeJS.ProcessEnv = process.env,
): Config<N> {
  const shape = Object.fromEntries(names.map((name) => [name, settings[name]]));
  const parsed = z.object(shape).safeParse(environment);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Unusable settings: ${wrong.join('; ')}`);
  }
  // The shape was built from exactly these names, which the checker can't follow through fromEntries.
  return parsed.data as Config<N>;
}
