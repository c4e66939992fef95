import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import rules from '#shared/reports/gitleaks-rules/rules.json' with { type: 'json' };
import { withoutSecrets } from '#shared/reports/secret-shapes.ts';
import { attack } from '#test/harness/attack.ts';
import { importReport } from '#test/harness/importing.ts';
import { createTestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import { addRepository } from '#test/harness/scanning.ts';
import { storedItems } from '#test/harness/stored-items.ts';

const run = promisify(execFile);

// Made up, and put together here, so that no scanner takes this file for a leak.
const TOKEN = `ghp_${'0Az1By2Cx3Dw4Ev5'.repeat(2)}wXyZ`;
const PASSWORD = 'Tr0ub4dor-and-3';
const AWS = ['wJalrXUt', 'nFEMI/K7', 'MDENG/bP', 'xRfiCY9z', 'Kq2Lm8Vt'].join('');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const percent = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');
const fullWidth = (text: string) =>
  text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0));
const escaped = (text: string) =>
  Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const bytesOf = (text: string, radix: number) =>
  Array.from(Buffer.from(text), (byte) => byte.toString(radix));
const entities = (text: string) =>
  Array.from(text, (one) => `&#x${one.charCodeAt(0).toString(16)};`).join('');

type History = 'held' | 'got through';
/** What it is, a text, and what must not be left of it. */
const TEXTS: readonly (readonly [History, string, string, string])[] = [
  ['got through', 'an element', `<password>${PASSWORD}</password>`, PASSWORD],
  [
    'got through',
    'an element with a prefix and attributes',
    `<db:adminPassword enc="no">${PASSWORD}</db:adminPassword>`,
    PASSWORD,
  ],
  ['got through', 'an element of CDATA', `<secretKey><![CDATA[${PASSWORD}]]></secretKey>`, PASSWORD],
  ['got through', 'a pair of attributes', `<add key="DbPassword" value="${PASSWORD}"/>`, PASSWORD],
  ['got through', 'a pair of members', `{"name": "API_TOKEN", "value": "${PASSWORD}"}`, PASSWORD],
  ['got through', 'a quote as an entity', `password=&quot;${PASSWORD}&quot;`, PASSWORD],
  ['got through', 'an escaped element', `&lt;password&gt;${PASSWORD}&lt;/password&gt;`, PASSWORD],
  ['got through', 'entities within entities', `password=&amp;quot;${PASSWORD}&amp;quot;`, PASSWORD],
  ['got through', 'a token of entities', `see ${entities(TOKEN)} there`, entities(TOKEN)],
  ['got through', 'a percent-encoded token', `GET /x?y=${percent(TOKEN)}`, percent(TOKEN)],
  ['got through', 'a token encoded twice', `GET /x?y=${percent(percent(TOKEN))}`, percent(percent(TOKEN))],
  [
    'got through',
    'a token whose underscore is encoded',
    `found ${TOKEN.replace('_', '%5F')}`,
    TOKEN.slice(4),
  ],
  [
    'got through',
    'a percent-encoded assignment',
    `body: ${encodeURIComponent(`password="${PASSWORD}"`)}`,
    PASSWORD,
  ],
  ['got through', 'a token in base64', `found ${base64(TOKEN)} in a file`, base64(TOKEN)],
  [
    'held',
    'a token in base64 for addresses',
    `found ${Buffer.from(`{"t":"${TOKEN}"}`).toString('base64url')}`,
    Buffer.from(TOKEN).toString('base64url').slice(8, 24),
  ],
  [
    'got through',
    'a configuration in base64',
    `user_data: ${base64(`export DB_PASSWORD="${PASSWORD}"`)}`,
    base64(`export DB_PASSWORD="${PASSWORD}"`),
  ],
  [
    'got through',
    'base64 within base64',
    `blob ${base64(base64(`token=${TOKEN}`))}`,
    base64(base64(`token=${TOKEN}`)),
  ],
  [
    'got through',
    'base64 of UTF-16',
    `powershell -enc ${Buffer.from(`$password = "${PASSWORD}"`, 'utf16le').toString('base64')}`,
    Buffer.from(`$password = "${PASSWORD}"`, 'utf16le').toString('base64'),
  ],
  [
    'got through',
    'a token in hexadecimal digits',
    `0x${Buffer.from(TOKEN).toString('hex')}`.slice(2),
    Buffer.from(TOKEN).toString('hex'),
  ],
  ['got through', 'an escaped token', `"${escaped(TOKEN)}"`, escaped(TOKEN)],
  [
    'got through',
    'a token with characters that nobody sees',
    `found ${TOKEN.slice(0, 9)}\u200b${TOKEN.slice(9, 20)}\u00ad${TOKEN.slice(20)}`,
    TOKEN.slice(20),
  ],
  ['got through', 'a full-width assignment', `${fullWidth(`password=${PASSWORD}`)}`, fullWidth(PASSWORD)],
  ['got through', 'a full-width token', `found ${fullWidth(TOKEN)}`, fullWidth(TOKEN)],
  ['got through', 'an AWS secret key in prose', `The AWS secret of the account is ${AWS}, rotate it`, AWS],
  ['got through', 'an AWS secret key beside its id', `AKIA${'Q7J3N5T2'.repeat(2)} ${AWS}`, AWS],
  ['got through', 'a pass phrase in prose', `the pass phrase is ${PASSWORD}`, PASSWORD],
  ['got through', 'a password in prose', `The password for the user root is ${PASSWORD}.`, PASSWORD],
  ['got through', 'a password that was', `password was set to ${PASSWORD}`, PASSWORD],
  ['got through', 'in Spanish', `la contraseña es ${PASSWORD}`, PASSWORD],
  ['got through', 'in French', `le mot de passe : ${PASSWORD}`, PASSWORD],
  ['got through', 'in German', `Das Passwort lautet ${PASSWORD}`, PASSWORD],
  ['got through', 'in Polish', `hasło to: ${PASSWORD}; hasło: ${PASSWORD}`.slice(-24), PASSWORD],
  ['got through', 'in Russian', `пароль: ${PASSWORD}`, PASSWORD],
  ['got through', 'in Greek', `ο κωδικός είναι ${PASSWORD}`, PASSWORD],
  ['got through', 'in Arabic', `كلمة المرور: ${PASSWORD}`, PASSWORD],
  ['got through', 'in Hebrew', `סיסמה: ${PASSWORD}`, PASSWORD],
  ['got through', 'in Hindi', `पासवर्ड है ${PASSWORD}`, PASSWORD],
  ['got through', 'in Chinese', `默认密码是${PASSWORD}`, PASSWORD],
  ['got through', 'in Chinese with full-width signs', `密码：${PASSWORD}`, PASSWORD],
  ['got through', 'in Japanese', `パスワードは${PASSWORD}`, PASSWORD],
  ['got through', 'in Korean', `비밀번호: ${PASSWORD}`, PASSWORD],
  [
    'got through',
    'bytes in hexadecimal digits',
    `bytes ${bytesOf(TOKEN, 16).join(' ')}`,
    bytesOf(TOKEN, 16).join(' '),
  ],
  [
    'got through',
    'bytes as a program lists them',
    `[0x${bytesOf(TOKEN, 16).join(', 0x')}]`,
    bytesOf(TOKEN, 16).join(', 0x'),
  ],
  [
    'got through',
    'bytes in decimal digits',
    `fromCharCode(${bytesOf(TOKEN, 10).join(',')})`,
    bytesOf(TOKEN, 10).join(','),
  ],
  [
    'got through',
    'a token in two literals',
    `"${TOKEN.slice(0, 12)}" + "${TOKEN.slice(12)}"`,
    TOKEN.slice(12),
  ],
  [
    'got through',
    'escapes of old browsers',
    escaped(TOKEN).replaceAll('\\', '%'),
    escaped(TOKEN).replaceAll('\\', '%'),
  ],
  [
    'got through',
    'quoted-printable',
    `=${bytesOf(TOKEN, 16).join('=').toUpperCase()}`,
    bytesOf(TOKEN, 16).join('=').toUpperCase(),
  ],
  ['got through', 'a cookie', 'Cookie: session=8d7f6a5s4d3f2g1h; theme=dark', '8d7f6a5s4d3f2g1h'],
  ['got through', 'an argument of ldapsearch', 'ldapsearch -D cn=admin -w L1dapPw -b dc=x', 'L1dapPw'],
  ['got through', 'an argument of zip', 'zip -P Z1pPw a.zip b', 'Z1pPw'],
  ['got through', 'an argument of net use', 'net use \\\\h\\s /user:joe Wq8eRt5y', 'Wq8eRt5y'],
  ['held', 'an assignment', `password="${PASSWORD}"`, PASSWORD],
  ['held', 'a token as it is', `found ${TOKEN}`, TOKEN],
];

/** Sentences that such texts are full of, and that say nothing. */
const HARMLESS = [
  'The password is required, and the pass phrase is optional.',
  'Das Passwort ist erforderlich. Пароль: обязательно. 密码是必填项。',
  'Set the password to a value of at least 12 characters; the default password is none.',
  'The secret is read from config.get("secret") and the token is base64-encoded.',
  `<password>$${'{db.password}'}</password> and <passwordPolicy>strict</passwordPolicy>`,
  'AWS publishes com/AmazonS3/latest/userguide/ServerLogs in its documentation.',
  'sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 of the file',
  'integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  'See https://example.com/a%20b?x=1&amp;y=2 &lt;T&gt; caf\u00e9 ﬁle ½ １２３',
];

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('a secret in a text of a report', () => {
  for (const [history, what, text, secret] of TEXTS) {
    attack('secrets in imports', history, what, () => {
      expect(text).toContain(secret);
      const clean = withoutSecrets(text);
      expect(clean).toContain('REDACTED');
      for (const shown of [clean, Buffer.from(clean).toString('latin1'), clean.normalize('NFKC')]) {
        expect(shown).not.toContain(secret);
        expect(shown).not.toContain(TOKEN);
        expect(shown).not.toContain(PASSWORD);
        expect(shown).not.toContain(AWS);
      }
      expect(withoutSecrets(clean)).toBe(clean);
    });
  }

  attack('secrets in imports', 'held', 'sentences without one stay as they are', () => {
    for (const text of HARMLESS) expect(withoutSecrets(text)).toBe(text);
  });

  attack('secrets in imports', 'got through', 'from the import to the list and the table', async () => {
    const org = await createTestOrganization();
    const asset = await addRepository(org, 'https://git.example.com/secrets.git');
    const log = sarifLog(TEXTS.map((_, index) => ({ path: `f${index}.ts` })));
    const results = log.runs[0]?.results as { message: { text: string } }[];
    TEXTS.forEach(([, , text], index) => {
      const result = results[index];
      if (result) result.message = { text: `Result ${index}: ${text}` };
    });
    await importReport(org, asset, log, { scanner: 'semgrep' });
    const { data } = await org.client.call(findings.operations.listFindings, { query: { per_page: 100 } });
    expect(data).toHaveLength(TEXTS.length);
    const kept = (await storedItems()).filter((item) => JSON.stringify(item).includes(org.orgId));
    for (const place of [JSON.stringify(data), JSON.stringify(kept)])
      for (const [, what, , secret] of TEXTS) expect([what, place.includes(secret)]).toEqual([what, false]);
  });
});

describe('what the real Gitleaks finds', () => {
  attack('secrets in imports', 'got through', 'by each of its rules, in texts made from them', async () => {
    const gitleaks = await requireScanner('gitleaks');
    // The same texts each time: what fails once must fail again.
    const texts = rules.rules.flatMap(({ regex, keywords }) => {
      const matching = fc.stringMatching(new RegExp(plain(regex)), { maxLength: 400 });
      return fc
        .sample(matching, { numRuns: 4, seed: 20_260_101 })
        .map((text) => `${keywords[0] ?? ''} ${text} \n`);
    });
    const folder = await mkdtemp(join(root, 'gitleaks-'));
    await Promise.all(texts.map((text, index) => writeFile(join(folder, `text-${index}.txt`), text)));
    const report = join(root, 'gitleaks.json');
    await run(gitleaks.path, [
      'dir',
      folder,
      '--no-banner',
      '--exit-code',
      '0',
      '--report-format',
      'json',
      '--report-path',
      report,
    ]);
    const leaks = JSON.parse(await readFile(report, 'utf8')) as {
      RuleID: string;
      File: string;
      Secret: string;
    }[];
    const found = new Set(leaks.map(({ RuleID }) => RuleID));
    // Most rules find what is made from them; the others want more entropy than chance gives.
    expect(found.size).toBeGreaterThan(rules.rules.length / 2);
    const shown = leaks.filter(({ File, Secret }) => {
      const text = texts[Number(/text-(\d+)/.exec(File)?.[1])] ?? '';
      return withoutSecrets(text).includes(Secret);
    });
    expect(shown.map(({ RuleID, Secret }) => [RuleID, Secret])).toEqual([]);
  });
});

/** For the generator, which knows neither flags within an expression nor what stands around one. */
function plain(regex: string): string {
  return regex
    .replace(/\(\?(?:-?[a-z]+):/g, '(?:')
    .replace(/\\[bB]/g, '')
    .replaceAll('(?![\\s\\S])', '');
}
