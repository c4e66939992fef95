import type {
  APIGatewayRequestAuthorizerEventV2,
  APIGatewaySimpleAuthorizerWithContextResult,
} from 'aws-lambda';
import { systemClock } from '#domain/clock.ts';
import type { AuthorizerContext } from '#http/caller.ts';
import { readConfig } from '#shared/config.ts';
import { newRequestId, withRequestId } from '#shared/request-scope.ts';
import { createOidcVerifier } from '#shared/security/oidc.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createTable } from '#store/table.ts';
import { authorize } from './authorize.ts';
import { createHomes } from './homes.ts';

const config = readConfig(['TABLE_NAME', 'TOKEN_SECRET_ARN', 'ASPM_RATE_LIMIT_FACTOR', 'ASPM_OIDC_ISSUERS']);
const table = createTable(config.TABLE_NAME);
const dependencies = {
  credentials: createCredentialStore(table),
  counters: createRateCounterStore(table),
  tokens: createTokens(createSecretReader(config.TOKEN_SECRET_ARN), systemClock),
  oidc: createOidcVerifier(config.ASPM_OIDC_ISSUERS, systemClock),
  homes: createHomes(),
  clock: systemClock,
  rateFactor: config.ASPM_RATE_LIMIT_FACTOR,
};

/**
 * Names the request, for the access log and everything that comes of it, and lets it through to its function, with the caller or the
 * reason why there is none. The name is ours: what a caller sends as `X-Request-ID` names nothing.
 */
export async function handler(
  event: APIGatewayRequestAuthorizerEventV2,
): Promise<APIGatewaySimpleAuthorizerWithContextResult<AuthorizerContext>> {
  const requestId = newRequestId();
  const context = await withRequestId(requestId, () =>
    authorize(
      {
        method: event.requestContext.http.method,
        path: event.rawPath,
        ip: event.requestContext.http.sourceIp,
        headers: event.headers ?? {},
      },
      dependencies,
    ),
  );
  return { isAuthorized: true, context: { ...context, requestId } };
}
