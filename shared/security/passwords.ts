import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(argon2);

/** argon2id at 19 MiB and two passes (OWASP's first recommendation): about 50 ms of one core. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** A PHC string: parameters, salt and hash. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive('argon2id', { ...PARAMETERS, message: password.normalize('NFKC'), nonce });
  const { memory, passes, parallelism } = PARAMETERS;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(tag)}`;
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/**
 * Whether the password is the one of the hash. Without a hash it does the same work and answers
 * false, so that an unknown e-mail takes as long as a wrong password.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const parts = PHC.exec(hash ?? '');
  const [, memory, passes, parallelism, salt, tag] = parts ?? [];
  const expected = Buffer.from(tag ?? '', 'base64');
  const actual = await derive('argon2id', {
    message: password.normalize('NFKC'),
    nonce: salt ? Buffer.from(salt, 'base64') : randomBytes(16),
    memory: memory ? Number(memory) : PARAMETERS.memory,
    passes: passes ? Number(passes) : PARAMETERS.passes,
    parallelism: parallelism ? Number(parallelism) : PARAMETERS.parallelism,
    tagLength: expected.length || PARAMETERS.tagLength,
  });
  return parts !== null && timingSafeEqual(expected, actual);
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
