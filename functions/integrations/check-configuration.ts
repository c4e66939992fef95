import type * as z from 'zod';
import type { IntegrationCreate, IntegrationUpdate } from '#contract/schemas/integrations.ts';
import { NOT_PUBLIC } from '#domain/clone-url.ts';
import { isRedacted, redactUrl } from '#domain/redacted-url.ts';
import { HttpValidationError } from '#http/validation.ts';
import type { HostCheck } from '#shared/network/named-hosts.ts';
import type { IntegrationRecord } from '#store/integrations.ts';

/** What the shape of a new integration does not tell. @throws HttpValidationError */
export async function checkCreation(
  body: z.output<typeof IntegrationCreate>,
  mayUseHost: HostCheck,
): Promise<void> {
  if (body.type === 'jira') await checkAddress('base_url', body.config.base_url, mayUseHost);
  if (body.type !== 'webhook') return;
  await checkAddress('url', body.config.url, mayUseHost);
  checkWhole(body.config.url);
}

/** What the shape of a change does not tell. @throws HttpValidationError */
export async function checkChange(
  held: IntegrationRecord,
  { config = {}, secrets = {} }: z.output<typeof IntegrationUpdate>,
  mayUseHost: HostCheck,
): Promise<void> {
  if (held.type !== 'jira' && Object.keys(secrets).length > 0)
    throw wrongField('secrets', `cannot be set on an integration of the type ${held.type}`);
  if (held.type === 'jira' && config.base_url !== undefined) {
    await checkAddress('base_url', config.base_url, mayUseHost);
    checkTokenMoves(held.config.base_url, config.base_url, secrets.api_token);
  }
  if (held.type === 'webhook' && config.url !== undefined) {
    await checkAddress('url', config.url, mayUseHost);
    if (config.url !== redactUrl(held.config.url)) checkWhole(config.url);
  }
}

/** Refused at once where it can be told already; it is judged again at each delivery (design 7). */
async function checkAddress(field: 'url' | 'base_url', url: string, mayUseHost: HostCheck): Promise<void> {
  if (!(await mayUseHost(new URL(url).hostname))) throw wrongField(`config.${field}`, NOT_PUBLIC);
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
