import * as z from 'zod';
import { isPlainAddress } from '#domain/clone-url.ts';
import { WEBHOOK_EVENTS } from '#domain/vocabulary.ts';
import { Timestamp, text, Uuid } from './common.ts';

/** An address that the service calls. What it holds is shown again, so credentials have no place in it. */
function httpUrl(without: string, fits: (url: URL) => boolean) {
  return text(2000)
    .refine((value) => {
      const url = URL.parse(value);
      return url !== null && /^https?:$/.test(url.protocol) && isPlainAddress(value) && fits(url);
    }, `must be an http or https URL without ${without}`)
    .meta({ format: 'uri' });
}

const isBare = (url: URL) => url.username === '' && url.password === '' && url.hash === '';

/** Of a webhook: what its query holds is kept like a secret. */
const WebhookUrl = httpUrl('credentials and fragment', isBare);

/** What paths are added to: a query has no place in it. */
const BaseUrl = httpUrl('credentials, query and fragment', (url) => isBare(url) && url.search === '');

/** An address as it is kept and shown: redacted, it may have become longer than what may be sent. */
const ShownUrl = z.string().meta({ format: 'uri' });

const github = { account: text(100).nullable() };
const jira = {
  base_url: BaseUrl,
  project_key: z
    .string()
    .trim()
    .regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'must be the key of a Jira project, such as SEC'),
  issue_type: text(100).nullable(),
  email: z.email().max(320).nullable(),
};
const webhook = {
  url: WebhookUrl,
  events: z
    .array(z.enum(WEBHOOK_EVENTS))
    .min(1)
    .max(100)
    .overwrite((events) => [...new Set(events)]),
};

const secret = text(4000);
const jiraSecrets = { api_token: secret, webhook_secret: secret.nullable() };

/** A record's own fields by type, as it is kept and shown; what was not given is null, and a webhook's URL is redacted. */
export const INTEGRATION_CONFIGS = {
  github: z.object(github),
  jira: z.object({ ...jira, base_url: ShownUrl }),
  webhook: z.object({ ...webhook, url: ShownUrl }),
};

const shared = {
  id: Uuid,
  name: z.string(),
  // Spec silent: there is no other status yet.
  status: z.literal('active'),
  created_at: Timestamp,
  updated_at: Timestamp,
};
const GithubRead = z.object({ ...shared, type: z.literal('github'), config: INTEGRATION_CONFIGS.github });
const JiraRead = z.object({ ...shared, type: z.literal('jira'), config: INTEGRATION_CONFIGS.jira });
const WebhookRead = z.object({ ...shared, type: z.literal('webhook'), config: INTEGRATION_CONFIGS.webhook });

export const IntegrationRead = z
  .discriminatedUnion('type', [GithubRead, JiraRead, WebhookRead])
  .meta({ id: 'IntegrationRead' });

/** A webhook's signing secret is in this answer alone. */
export const IntegrationCreated = z
  .discriminatedUnion('type', [
    GithubRead,
    JiraRead,
    z.object({ ...WebhookRead.shape, secret: z.string().regex(/^whsec_/) }),
  ])
  .meta({ id: 'IntegrationCreated' });

const name = text(200);

export const IntegrationCreate = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('github'),
      name,
      config: z.object({ account: github.account.default(null) }),
    }),
    z.object({
      type: z.literal('jira'),
      name,
      config: z.object({
        ...jira,
        issue_type: jira.issue_type.default(null),
        email: jira.email.default(null),
      }),
      secrets: z.object({ ...jiraSecrets, webhook_secret: jiraSecrets.webhook_secret.default(null) }),
    }),
    z.object({ type: z.literal('webhook'), name, config: z.object(webhook) }),
  ])
  .meta({ id: 'IntegrationCreate' });

/** What is given replaces what is kept; fields of another type are ignored, as unknown ones are. */
export const IntegrationUpdate = z
  .object({
    name: name.optional(),
    config: z
      .object({ ...github, ...jira, ...webhook })
      .partial()
      .optional(),
    secrets: z.object(jiraSecrets).partial().optional(),
  })
  .meta({ id: 'IntegrationUpdate' });
