import type * as z from 'zod';
import type { IntegrationCreate, IntegrationUpdate } from '#contract/schemas/integrations.ts';
import { isLinkLocalHost, isPrivateHost } from '#domain/clone-url.ts';
import { isRedacted, redactUrl } from '#domain/redacted-url.ts';
import { HttpValidationError } from '#http/validation.ts';
import type { IntegrationRecord } from '#store/integrations.ts';

interface Allowed {
  readonly allowPrivateAddresses: boolean;
}

/** What the shape of a new integration does not tell. @throws HttpValidationError */
export function checkCreation(body: z.output<typeof IntegrationCreate>, allowed: Allowed): void {
  if (body.type === 'jira') checkJiraAddress(body.config.base_url);
  if (body.type !== 'webhook') return;
  checkWebhookAddress(body.config.url, allowed);
  checkWhole(body.config.url);
}

/** What the shape of a change does not tell. @throws HttpValidationError */
export function checkChange(
  held: IntegrationRecord,
  { config = {}, secrets = {} }: z.output<typeof IntegrationUpdate>,
  allowed: Allowed,
): void {
  if (held.type !== 'jira' && Object.keys(secrets).length > 0)
    throw wrongField('secrets', `cannot be set on an integration of the type ${held.type}`);
  if (held.type === 'jira' && config.base_url !== undefined) {
    checkJiraAddress(config.base_url);
    checkTokenMoves(held.config.base_url, config.base_url, secrets.api_token);
  }
  if (held.type === 'webhook' && config.url !== undefined) {
    checkWebhookAddress(config.url, allowed);
    if (config.url !== redactUrl(held.config.url)) checkWhole(config.url);
  }
}

/** Literal addresses are refused at once; names are checked when they are resolved, at delivery (design 7). */
function checkWebhookAddress(url: string, { allowPrivateAddresses }: Allowed): void {
  if (!allowPrivateAddresses && isPrivateHost(new URL(url).hostname))
    throw wrongField('config.url', 'must not point at a private, loopback or link-local address');
}

/** Jira Server may be in a closed network; nobody's is where a cloud hands out its credentials. */
function checkJiraAddress(url: string): void {
  if (isLinkLocalHost(new URL(url).hostname))
    throw wrongField('config.base_url', 'must not point at a link-local or metadata address');
}

/** Else whoever may change the address, but not see the token, could have it sent to themselves. */
function checkTokenMoves(from: string, to: string, token: string | undefined): void {
  if (token === undefined && new URL(from).origin !== new URL(to).origin)
    throw wrongField('secrets.api_token', 'is required where config.base_url moves to another origin');
}

function checkWhole(url: string): void {
  if (isRedacted(url))
    throw wrongField('config.url', 'must be whole: REDACTED stands for what is never shown');
}

function wrongField(field: string, problem: string): HttpValidationError {
  return new HttpValidationError([
    { loc: ['body', ...field.split('.')], msg: `${field} ${problem}`, type: 'value_error' },
  ]);
}
