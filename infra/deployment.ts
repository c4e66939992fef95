import type { Node } from 'constructs';
import * as z from 'zod';
import { CorsOrigins } from '#infra/api/cors.ts';
import { AddressPolicySetting, OidcIssuers, OidcIssuersAsText } from '#shared/config.ts';

/**
 * What a deployment can choose, as CDK context: `cdk deploy -c alarmEmail=…`. Values from the
 * command line arrive as text, those from cdk.json as they are written there.
 */
export const Deployment = z.object({
  /** Bundle the functions. `false` (the embedded cloud) leaves the sources as they are. */
  bundle: z.union([z.boolean(), z.stringbool()]).default(true),
  /** Tier of a new organization. */
  defaultTier: z.enum(['free', 'pro', 'enterprise']).default('free'),
  /** Where alarms are sent; none by default: they are then seen in CloudWatch alone. */
  alarmEmail: z.email().optional(),
  /** Address of a custom domain in front of the API; by default the API's own. */
  publicUrl: z.url().optional(),
  /** Identity providers whose tokens are accepted: `-c oidcIssuers='[{"issuer":"https://…","audience":"…","email_domains":["…"]}]'`. */
  oidcIssuers: z.union([OidcIssuers, OidcIssuersAsText]).default([]),
  /** Origins whose pages may use the API: `-c corsOrigins=https://app.example.com,…`; `*` is all of them. */
  corsOrigins: CorsOrigins.prefault(''),
  /** Who may make organizations over the API: `operator` is nobody. */
  orgCreation: z.enum(['anyone', 'admins', 'operator']).default('operator'),
  /** How many of them one user may make. */
  orgCreationCap: z.coerce.number().int().min(0).default(10),
  /** What every limit of the tiers on requests is multiplied by. */
  rateLimitFactor: z.coerce.number().positive().default(1),
  /** Private networks that repositories may be in: `0` none, `1` all, or a list such as `10.20.0.0/16,192.168.7.4`. */
  allowPrivateAddresses: z
    .string()
    .default('0')
    .refine((networks) => AddressPolicySetting.safeParse(networks).success, 'must be 0, 1 or networks'),
  /** Any new text starts the functions that hold secrets anew: after one was rotated. */
  secretsRead: z.coerce.string().optional(),
  /** Name of a table that was restored from a backup, to work on instead of the stack's own (docs/deploying.md). */
  restoredTable: z
    .string()
    .regex(/^[\w.-]{3,255}$/)
    .optional(),
  /**
   * Nobody may delete the table, CloudFormation included. `false` for the very first deployment, so that nothing
   * is left behind where it fails (docs/decisions.md).
   */
  deletionProtection: z.union([z.boolean(), z.stringbool()]).default(true),
  /**
   * Tasks of the scanner runner that run at once, over all organizations, each of two vCPUs; `0`: no bound but the
   * tiers'. Three is what a new account allows.
   */
  maxRunners: z.coerce.number().int().min(0).max(10_000).default(3),
  /** How many batches of each queue are worked on at once. Two is the least that SQS knows. */
  queueConcurrency: z.coerce.number().int().min(2).max(1000).default(2),
  /** Ports at which runners reach repositories, databases of scanners, and us. */
  runnerPorts: z
    .string()
    .default('443,22')
    .transform((ports) => ports.split(',').map(Number))
    .pipe(z.array(z.int().min(1).max(65_535)).min(1)),
  /** Dollars a month: from 80 % of it, and where more is foreseen, the alarms' topic is told. */
  monthlyBudget: z.coerce.number().positive().optional(),
  /** X-Ray traces of the functions and the state machine. */
  tracing: z.union([z.boolean(), z.stringbool()]).default(false),
});
export type Deployment = z.output<typeof Deployment>;

export function readDeployment(node: Node): Deployment {
  const given = Object.keys(Deployment.shape).map((name) => [name, node.tryGetContext(name)] as const);
  return Deployment.parse(Object.fromEntries(given.filter(([, value]) => value !== undefined)));
}
