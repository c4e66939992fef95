import { randomBytes, timingSafeEqual } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';

/** What the embedded cloud's parts know each other by: made anew at each start, and told to nobody else. */
export interface LocalCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export function makeCredentials(): LocalCredentials {
  return {
    accessKeyId: `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64'),
  };
}

/** A request as it arrived; the body is looked at by whoever carries it out. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** How far clocks may be apart, as AWS has it. */
const SKEW_MS = 15 * 60 * 1000;
const LONGEST_SECONDS = 7 * 24 * 3600;

/**
 * Whether a request is signed with these credentials, by its headers or its query (Signature Version 4), and still
 * good. So nobody who merely reaches the port, such as a page in a browser by way of DNS rebinding, gets anything.
 */
export async function isSigned(
  request: SignedRequest,
  credentials: LocalCredentials,
  now: number,
): Promise<boolean> {
  const url = URL.parse(request.target, `http://${textOf(request.headers.host)}`);
  if (!url) return false;
  const authorization = textOf(request.headers.authorization);
  const claim = authorization === '' ? claimOfQuery(url) : claimOfHeader(authorization, request);
  if (!claim || !isInTime(claim, now)) return false;
  url.searchParams.delete('X-Amz-Signature');
  const [accessKeyId, , region = '', service = ''] = claim.credential.split('/');
  if (accessKeyId !== credentials.accessKeyId) return false;
  const signer = new AwsV4Signer({
    ...credentials,
    method: request.method,
    url: url.href,
    headers: headersOf(request, claim),
    service,
    region,
    datetime: claim.date,
    signQuery: claim.seconds !== null,
    allHeaders: true,
  });
  return isEqual(await signer.signature(), claim.signature);
}

interface Claim {
  readonly credential: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** `20260102T030405Z` */
  readonly date: string;
  /** How long a signed address is good for; null where the headers are signed. */
  readonly seconds: number | null;
}

function claimOfQuery({ searchParams: query }: URL): Claim | null {
  // Of a parameter that is given twice the one might be signed and the other be obeyed.
  if (new Set(query.keys()).size < query.size) return null;
  return {
    credential: query.get('X-Amz-Credential') ?? '',
    signedHeaders: (query.get('X-Amz-SignedHeaders') ?? '').split(';'),
    signature: query.get('X-Amz-Signature') ?? '',
    date: query.get('X-Amz-Date') ?? '',
    seconds: Number(query.get('X-Amz-Expires') ?? Number.NaN),
  };
}

function claimOfHeader(authorization: string, { headers }: SignedRequest): Claim | null {
  const [, credential = '', signedHeaders = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,\s]+), ?SignedHeaders=([^,\s]+), ?Signature=([0-9a-f]+)$/.exec(
      authorization,
    ) ?? [];
  // Without it the body's digest would be part of the signature, and the body had to be read first.
  if (headers['x-amz-content-sha256'] === undefined) return null;
  const date = textOf(headers['x-amz-date']);
  return { credential, signedHeaders: signedHeaders.split(';'), signature, date, seconds: null };
}

function isInTime({ date, seconds }: Claim, now: number): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(at) || at > now + SKEW_MS) return false;
  if (seconds === null) return now - at <= SKEW_MS;
  return seconds > 0 && seconds <= LONGEST_SECONDS && now - at <= seconds * 1000;
}

function headersOf({ headers }: SignedRequest, { signedHeaders }: Claim): Record<string, string> {
  const signed = signedHeaders.filter((name) => name !== 'host');
  return Object.fromEntries(signed.map((name) => [name, textOf(headers[name])]));
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}

function isEqual(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
