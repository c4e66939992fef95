/** Where it is written what API Gateway makes of a request. */
export const SOURCES = {
  payload: 'documented: API Gateway Developer Guide, "Create AWS Lambda proxy integrations for HTTP APIs"',
  routes: 'documented: API Gateway Developer Guide, "Create routes for HTTP APIs"',
  cors: 'documented: API Gateway Developer Guide, "Configure CORS for HTTP APIs": only a configured API answers',
  variables: 'documented: API Gateway Developer Guide, "Customize HTTP API access logs": identity.sourceIp',
  quotas: 'documented: "Quotas for configuring and running an HTTP API"; the answer is not',
  lambda: 'documented: "Lambda quotas", 6 MB of request; the answer seen in koki-develop/lgtm-generator#10',
  paths: 'observed on AWS: hotsock/voker, vokerhttp/testdata/ingress-paths.json',
  capture: 'observed on AWS: hotsock/voker, vokerhttp/testdata/apigwv2-request.json',
  slash: 'observed on AWS: storacha/w3infra#166, forum.serverless.com/t/12717',
  types: 'observed on AWS: ministackorg/ministack#766',
  charset: 'observed on AWS: floci-io/floci#2172 and #2203',
  multipart: 'observed on AWS: dherault/serverless-offline#1776',
  none: 'not documented',
} as const;

export type Source = keyof typeof SOURCES;
