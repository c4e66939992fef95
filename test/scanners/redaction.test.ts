import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Scanner } from '#domain/vocabulary.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { parseReport } from '#shared/reports/parse.ts';
import { sanitiseReport } from '#shared/reports/sanitise.ts';
import { parseSarif } from '#shared/reports/sarif.ts';
import { nameWithoutSecrets, withoutSecrets } from '#shared/reports/secret-shapes.ts';
import { sarifLog } from '#test/harness/sarif.ts';

const hex = (length: number) => randomBytes(length).toString('hex').slice(0, length);
const upper = (length: number) => hex(length).toUpperCase();

/** One of each known look, made up anew in every run. */
const SECRETS: Record<string, string> = {
  'AWS key': `AKIA${upper(16)}`,
  'AWS session key': `ASIA${upper(16)}`,
  'GitHub token': `ghp_${hex(36)}`,
  'GitHub OAuth token': `gho_${hex(36)}`,
  'GitHub app token': `ghs_${hex(36)}`,
  'GitHub fine-grained token': `github_pat_${hex(22)}_${hex(40)}`,
  'GitLab token': `glpat-${hex(20)}`,
  'Slack token': `xoxb-${hex(12)}-${hex(24)}`,
  'Stripe key': `sk_live_${hex(24)}`,
  'restricted Stripe key': `rk_live_${hex(24)}`,
  'Google key': `AIza${hex(35)}`,
  'npm token': `npm_${hex(36)}`,
  'PyPI token': `pypi-AgEIcHlwaS5vcmc${hex(40)}`,
  'JSON web token': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ${hex(12)}.${hex(30)}`,
  'API key of ours': `svc_ak_${hex(16)}_${hex(38)}`,
  'webhook secret': `whsec_${randomBytes(32).toString('base64')}`,
  'Google OAuth secret': `GOCSPX-${hex(28)}`,
  'Docker token': `dckr_pat_${hex(27)}`,
  'Atlassian token': `ATATT3xFfGF0${hex(60)}`,
  'Figma token': `figd_${hex(40)}`,
  'Linear key': `lin_api_${hex(40)}`,
  'Databricks token': `dapi${hex(32)}`,
  'New Relic key': `NRAK-${upper(27)}`,
  'RubyGems key': `rubygems_${hex(48)}`,
  'PlanetScale token': `pscale_tkn_${hex(40)}`,
  'Telegram bot token': `1234567890:AA${hex(33)}`,
  'Discord webhook': `discord.com/api/webhooks/${hex(2).replaceAll(/\D/g, '1')}/${hex(60)}`,
};

describe('what looks like a secret', () => {
  test.each(Object.entries(SECRETS))('%s goes, wherever it stands', (_, secret) => {
    for (const text of [
      secret,
      `x ${secret} y`,
      `"${secret}"`,
      `key=${secret}`,
      `(${secret}).`,
      `/${secret}/`,
    ]) {
      expect(withoutSecrets(text)).not.toContain(secret.slice(8));
      expect(nameWithoutSecrets(text)).not.toContain(secret.slice(8));
    }
  });

  test.each([
    ['https://ann:hunter22@git.test/a', 'https://ann:REDACTED@git.test/a'],
    ['https://ann:p@ss@git.test/a', 'https://ann:REDACTED@git.test/a'],
    [`https://${'f00d'.repeat(10)}@git.test/a`, 'https://REDACTED@git.test/a'],
    ['GET /a?token=abc123&x=1', 'GET /a?token=REDACTED&x=1'],
    ['/a?X-Amz-Security-Token=abc123#top', '/a?X-Amz-Security-Token=REDACTED'],
    ['?sv=1&sig=aB3%2Fxyz&se=2', '?sv=1&sig=REDACTED&se=2'],
    ['DB_PASSWORD=hunter22 is set', 'DB_PASSWORD=REDACTED is set'],
    ['Uid=sa;Pwd=hunter22;Server=db', 'Uid=sa;Pwd=REDACTED;Server=db'],
    ['AccountKey=abc/def+ghi==;', 'AccountKey=REDACTED;'],
    ['connect(password="two words", user="ann")', 'connect(password="REDACTED", user="ann")'],
    ['{"user":"ann","apiKey":"abc123"}', '{"user":"ann","apiKey":"REDACTED"}'],
    ['{\\"client_secret\\":\\"abc123\\"}', '{\\"client_secret\\":\\"REDACTED\\"}'],
    ["'passwd' => x, 'passwd'=>'hunter22'", "'passwd' => x, 'passwd'=>'REDACTED'"],
    ['x-api-key:abc123, next', 'x-api-key:REDACTED, next'],
    ['Authorization: Bearer abc123abc123abc123', 'Authorization: Bearer REDACTED'],
    ['The default is password=hunter22.', 'The default is password=REDACTED.'],
  ])('%s', (text, clean) => {
    expect(withoutSecrets(text)).toBe(clean);
  });

  test.each([
    ['Authorization: token abcdef0123456789', 'Authorization: token REDACTED'],
    ['curl -H "Authorization: Bearer abcd1234efgh"', 'curl -H "Authorization: Bearer REDACTED"'],
    ['{"Authorization": "Basic YW5uOmI="}', '{"Authorization": "Basic REDACTED"}'],
    ['Authorization: dXNlcjpwYXNzd29yZA==', 'Authorization: REDACTED'],
    ['DB_PASS=hunter2x1', 'DB_PASS=REDACTED'],
    ['DB_PASS=letmein', 'DB_PASS=REDACTED'],
    ['/login?user=ann&pass=letmein', '/login?user=ann&pass=REDACTED'],
    ['pass=hunter2x1', 'pass=REDACTED'],
    ['MYSQL_ROOT_PW: "hunter2x1"', 'MYSQL_ROOT_PW: "REDACTED"'],
    ['set_password("hunter2x1")', 'set_password("REDACTED")'],
    ['password: hunter2', 'password: REDACTED'],
    ['password: Sup3rS3cret99 was found', 'password: REDACTED was found'],
    ['keytool -list -storepass changeit -keystore a', 'keytool -list -storepass REDACTED -keystore a'],
    ['Hardcoded secret detected: s3cr3tpw99', 'Hardcoded secret detected: REDACTED'],
    ['jdbc:oracle:thin:scott/tiger9@db:1521:x', 'jdbc:oracle:thin:scott/REDACTED@db:1521:x'],
  ])('by the words around it: %s', (text, clean) => {
    expect(withoutSecrets(text)).toBe(clean);
    expect(withoutSecrets(clean)).toBe(clean);
  });

  test.each([
    'kubernetes secret "tls-cert-2024" not found',
    'credential: CVE-2024-12345678 in a library',
    'Ensure secret: rotation90days is on',
    'private key: RSA-2048bits, API key: AES256GCM12, password: argon2id',
    'Basic authentication-over-http-is-insecure2, Basic authentication123 is used',
    'passwordHash=BCrypt.hash',
    `Authorization: Bearer <token>, Authorization: Bearer $TOKEN, Authorization: Bearer authentication`,
    'Authorization: https://docs.test/authorization2, the Authorization: header',
    'bypass=hunter2x1 and compass: abcdef1234; pass=always; --- PASS: TestLog4jAndMore',
    'getSecret("db1credentials") and password: 14characters',
    'jdbc:oracle:thin:@//db:1521/x',
  ])('by the words around it these stay: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test.each([
    ['https://abc123@git.test/a', 'https://REDACTED@git.test/a'],
    ['https://abc123:x-oauth-basic@git.test/a', 'https://REDACTED:REDACTED@git.test/a'],
    ['https://abc123:@git.test/a', 'https://REDACTED:@git.test/a'],
    ['git+https://abc123@git.test/a.git', 'git+https://REDACTED@git.test/a.git'],
    ['file://ann:pw@host/a', 'file://ann:REDACTED@host/a'],
    ['jdbc:postgresql://abc123@db/a', 'jdbc:postgresql://REDACTED@db/a'],
    ['7+://ann:pw@host/a', '7+://ann:REDACTED@host/a'],
    ['//ann:pw@host/a', '//ann:REDACTED@host/a'],
    ['see "//ann:pw@host/a" there', 'see "//ann:REDACTED@host/a" there'],
    ['//abc123@host/a', '//REDACTED@host/a'],
  ])('of an address: %s', (text, clean) => {
    expect(withoutSecrets(text)).toBe(clean);
    expect(nameWithoutSecrets(text)).toBe(clean);
  });

  test.each([
    'git@git.test:a/b.git and ssh://ann@git.test/a.git, git+ssh://git@git.test/a.git, https://git@git.test/a',
    'mail ann@example.test or mailto:ann@example.test; //ann@example.test wrote this',
    'docker://alpine@sha256:0123456789abcdef, npm://lodash@4.17.21, //@ts-ignore, https://docs.test/@scope/a',
    `https://<TOKEN>@git.test, https://$\{TOKEN}@git.test, https://ann:$\{PASSWORD}@git.test, https://ann:$PW@git.test`,
  ])('of an address this stays: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test.each([
    ['Hardcoded password "letmein" found', 'Hardcoded password "REDACTED" found'],
    ["Possible hardcoded password: 'root'", "Possible hardcoded password: 'REDACTED'"],
    ["Possible hardcoded password: 'two words'", "Possible hardcoded password: 'REDACTED'"],
    ["the password 'hunter2' is used", "the password 'REDACTED' is used"],
    ['the API key is `abc123def456` here', 'the API key is `REDACTED` here'],
    ['curl -u ann:b https://x.test', 'curl -u ann:REDACTED https://x.test'],
    ['Run `curl -sSu ann:b https://x.test`.', 'Run `curl -sSu ann:REDACTED https://x.test`.'],
    ['curl "https://x.test/?a=1&b=2" --user "ann:b"', 'curl "https://x.test/?a=1&b=2" --user "ann:REDACTED"'],
    ['mysql -uroot -ppw db', 'mysql -uroot -pREDACTED db'],
    ['sshpass -p pw ssh host', 'sshpass -p REDACTED ssh host'],
    ['docker login -u ann -p pw r.test', 'docker login -u ann -p REDACTED r.test'],
    ['redis-cli -a pw ping', 'redis-cli -a REDACTED ping'],
    ['tool --db-password hunter22 --verbose', 'tool --db-password REDACTED --verbose'],
  ])('in a sentence or a command: %s', (text, clean) => {
    expect(withoutSecrets(text)).toBe(clean);
  });

  test.each([
    `token="<YOUR_TOKEN>", token="$\{TOKEN}", password="xxxx", token=process.env.X, password=your-password-here`,
    `Hardcoded password "<password>" or "$\{PASSWORD}"; hardcoded secret "$SECRET"`,
    `The secret 'db-credentials-2', the token "csrf_token", the password 'sha256' and the API key "API_KEY_1"`,
    'The password "must be at least 8 characters long", and the token \'Bearer\' comes first',
    'curl -u "$USER:$PASSWORD" https://x.test; curl -u ann:<password> x; docker run -u 1000:1000 image',
    'docker run -p 8080:80 image; mysql -p db; mysql -u root -p; ssh -p 2222 host; mkdir -p a/b1',
    'Use --password-stdin, --token and --secret id=a1b2c3; docker login -p "$(cat key.json)"',
    'gpg --export-secret-key ann2@example.test; ann:password "localhost:6000/"',
  ])('of sentences and commands this stays: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  // The scanners' own words, which tell of secrets a lot and hold none.
  test.each(SCANNERS)('%s: no text of the sample changes', (scanner) => {
    const texts = textsIn(sample(scanner));
    expect(texts.length).toBeGreaterThan(10);
    for (const text of texts) expect(withoutSecrets(text)).toBe(text);
  });

  test('a private key goes as a block, and without its end by its lines', () => {
    const lines = Array.from({ length: 4 }, () => randomBytes(48).toString('base64'));
    const head = '-----BEGIN RSA PRIVATE KEY-----';
    const whole = `Found ${head}\n${lines.join('\n')}\n-----END RSA PRIVATE KEY----- in a.pem`;
    expect(withoutSecrets(whole)).toBe('Found REDACTED in a.pem');
    expect(withoutSecrets(whole.replaceAll('\n', '\\n'))).toBe('Found REDACTED in a.pem');
    expect(withoutSecrets(`Found ${head}\n${lines.join('\n')}`)).toBe('Found REDACTED');
    expect(withoutSecrets(`${head} opens a file that should not be here`)).toBe(
      'REDACTED opens a file that should not be here',
    );
  });

  test.each([
    'A parameter such as password=... or token= is sent in clear text.',
    'The password: it is stored without a salt. Secret: none.',
    'Set "password=" and "token=" to nothing; `secret=` too.',
    `Use $\{{ secrets.TOKEN }}, password=$\{PASSWORD}, token=$TOKEN, secret=<secret>, password=%s or api_key={0}.`,
    'jwt.verify(token, secret=getSecret()), password=process.env.PASSWORD, token=null, password=True',
    'max_tokens=512, tokenizer=fast, token_type=bearer, secretary=ann',
    'secretsmanager:GetSecretValue and secrets:read on arn:aws:secretsmanager:us-east-1:1:secret:name',
    'Token::new and std::token::Stream in https://docs.test/a:8080/@scope/token',
    'Basic authentication and Bearer tokens; git clone ssh://git@git.test/a.git or git@git.test:a.git',
    'CVE-2021-44228: Log4j2 2.0-beta9 through 2.15.0 JNDI features … an attacker who can control messages',
    'pkg:npm/%40angular/core@1.2.3, pypi-server, npm_config_registry, sk-learn, task-abcdefghijklmnop',
    'publicKeyJsonWebTokenStuff and AKIA, the beginning of a key',
  ])('ordinary words stay: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test.each([
    'password = "hunter2Sup3rS3cret"',
    'password: hunter2Sup3rS3cret',
    '{"client_secret": "hunter2Sup3rS3cret"}',
    'const apiKey = "hunter2Sup3rS3cret";',
    'aws_secret_access_key = hunter2Sup3rS3cret',
    'X-Api-Key: hunter2Sup3rS3cret',
    'https://hunter2Sup3rS3cretHunter2Sup3r:x-oauth-basic@git.example/x',
  ])('space around the sign hides nothing: %s', (text) => {
    expect(withoutSecrets(text)).not.toContain('hunter2Sup3rS3cret');
  });

  test.each([
    'password: must be changed at first sign-in',
    'The token = the credential of the caller',
    'secret: "optional" in version 2',
    'if (password == other) return',
  ])('a sentence stays a sentence: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test.each(['secrets:S6290', 'python:S2068', 'generic.secrets.detected-token', 'docker:password:none'])(
    'a name stays a name: %s',
    (name) => {
      expect(nameWithoutSecrets(name)).toBe(name);
    },
  );

  test('twice is the same as once, whatever the text', () => {
    const part = fc.constantFrom(
      ...Object.values(SECRETS),
      ...'password= token: "secret": https:// a:b@ @ :// ?sig= Bearer REDACTED REDAC… -----BEGIN\u0020PRIVATE\u0020KEY----- '.split(
        ' ',
      ),
      ...['curl ', ' -u ', 'mysql ', ' -p', 'hard-coded ', '//', '--token ', 'password ', ' | '],
      ...[
        'Authorization: ',
        'DB_PASS=',
        'pass: ',
        '(',
        'keytool -storepass ',
        'jdbc:oracle:thin:a/',
        'hunter22',
      ],
      ...['"', "'", '\\', ' ', '\n', '.', '=', ':', '&', 'x', 'abc123', '-----END PRIVATE KEY-----'],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        for (const clean of [withoutSecrets, nameWithoutSecrets]) {
          const once = clean(parts.join(''));
          expect(clean(once)).toBe(once);
        }
      }),
      { numRuns: 2000 },
    );
  });

  // Quadratic time would be hours here.
  test.each([
    ...[
      'eyJ',
      'eyJ.',
      '://',
      '://a',
      'password=',
      'password="',
      'password=\\"',
      'password=f(',
      'token=${',
      'token:',
    ],
    ...[
      'secret://',
      'secrets:',
      'token=REDACTED',
      '-----BEGIN PRIVATE KEY-----',
      'SG.aaaaaaaaaaaaaaaaaaaa',
      'AKIA',
    ],
    ...[
      `password='f(password="f(`,
      'api_api-',
      '-----BEGIN PRIVATE KEY-----abcdefghijklmnopqrstuvwxyz',
      ' ',
      'a',
    ],
    ...[
      'curl -u ',
      'curl ',
      'mysql -p',
      'password "',
      "hard-coded password '",
      '//a',
      '--token a',
      'pass=',
      'DB_PW: ',
      'Authorization: Bearer ',
      'Authorization:abcdefgh',
      'jdbc:oracle:thin:',
      'jdbc:oracle:thin:a/',
      'hard-coded secret ',
      'hard-coded secret: a',
      'password("',
      'keytool -storepass ',
      '12345678:',
      'password: sha-',
      'Basic a-b.',
      '-u',
      'a-',
    ],
  ])('millions of %j take no longer than as much of anything else', (part) => {
    expect(withoutSecrets(part.repeat(Math.ceil(8_000_000 / part.length)))).not.toBe('');
  });
});

type Json = Record<string, unknown>;

function sample(scanner: Scanner): Json {
  return JSON.parse(
    readFileSync(new URL(`../fixtures/reports/${scanner}.json`, import.meta.url), 'utf8'),
  ) as Json;
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Something secret in every place that a report has for text. */
function planted(value: unknown, plant: (text: string) => string, field = ''): unknown {
  if (typeof value === 'string') return KEPT.has(field) ? value : plant(value);
  if (Array.isArray(value)) return value.map((item) => planted(item, plant, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, planted(item, plant, name)]));
}
/** Without these it would not be such a report any more. */
const KEPT = new Set(['version', 'level', 'kind', 'severity', 'Severity', 'Status', 'secret_hmac']);

const looks = Object.values(SECRETS);
const plants: ((text: string) => string)[] = [
  ...looks.map((secret) => (text: string) => `${text} ${secret}`),
  (text) => `${text} https://ann:hunter22-not-known@git.test/x`,
  (text) => `${text} ?token=hunter22-not-known&x=1`,
];
const tails = [...looks.map((secret) => secret.slice(8)), 'hunter22-not-known'];

function expectNone(shown: unknown): void {
  const text = JSON.stringify(shown);
  for (const tail of tails) expect(text).not.toContain(tail);
}

describe('reports', () => {
  test.each(SCANNERS)('%s: no text of a finding holds one, whichever field it came in', async (scanner) => {
    for (const plant of plants) {
      const raw = planted(sample(scanner), plant);
      const { findings } = parseReport(scanner, raw);
      expect(findings.length).toBeGreaterThan(0);
      expectNone(findings);
      const context = { key: 'key', readLines: async () => null, secrets: new Set<string>() };
      const clean = await sanitiseReport(scanner, raw, context);
      expectNone(clean);
      expectNone(parseReport(scanner, clean).findings);
    }
  });

  test('SARIF: neither results nor rules nor the driver', () => {
    const log = sarifLog([{ rule: 'r' }, { rule: 'other', path: 'b.ts' }], 'CodeQL');
    const rule = {
      id: 'r',
      name: 'A name',
      fullDescription: { text: 'Full.' },
      help: { text: 'Help.' },
      messageStrings: { default: { text: 'Said {0}' } },
    };
    Object.assign(log.runs[0]?.tool.driver ?? {}, { rules: [rule, { id: 'other' }] });
    Object.assign(log.runs[0]?.results[0] ?? {}, {
      message: { id: 'default', arguments: ['this'] },
      fixes: [{ description: { text: 'Do that' } }],
    });
    for (const plant of plants) {
      const raw = planted(log, plant) as { runs: [{ results: { message: { id?: string } }[] }] };
      // Where the message is found stays as it is.
      const [first] = raw.runs[0].results;
      if (first) first.message.id = 'default';
      const [report] = parseSarif(raw, 'key', 'semgrep');
      expect(report?.findings).toHaveLength(2);
      expectNone(report);
    }
  });

  test.each([
    ['file://ann:pw@host/a.ts', 'ann:REDACTED@host/a.ts'],
    ['file://abc123@host/a.ts', 'REDACTED@host/a.ts'],
    ['//ann:pw@host/a.ts', 'ann:REDACTED@host/a.ts'],
    ['//abc123@host/a.ts', 'REDACTED@host/a.ts'],
    ['https://abc123@git.test/a%20b.ts', 'https://REDACTED@git.test/a b.ts'],
    ['file:///src/a@b.ts', 'src/a@b.ts'],
  ])('SARIF: the address of a file: %s', (path, shown) => {
    expect(parseSarif(sarifLog([{ path }]), 'key', null)[0]?.findings[0]?.location.path).toBe(shown);
  });

  test('a secret that is cut through at the end of a text is none that is kept', () => {
    const secret = SECRETS['GitHub token'] ?? '';
    const result = (room: number) => ({
      check_id: `${'r'.repeat(room > 500 ? 10 : room)}`,
      path: 'a',
      start: { line: 1 },
      end: { line: 1 },
      extra: {
        severity: 'LOW',
        message: `${'x '.repeat(room / 2)}${secret}`,
        metadata: { title: `${'x '.repeat(room / 2)}${secret}` },
      },
    });
    for (const room of [160, 180, 190, 3960, 3980, 3990])
      expect(JSON.stringify(parseReport('semgrep', { results: [result(room)] }))).not.toContain(
        secret.slice(0, 9),
      );
  });

  test('an unseen character hides none', () => {
    const secret = SECRETS['AWS key'] ?? '';
    const hidden = `${secret.slice(0, 7)}\u0000${secret.slice(7)}`;
    const log = sarifLog([{ rule: hidden, path: `a/${hidden}`, text: hidden }]);
    expectNone(parseSarif(log, 'key', null));
  });
});

describe('identity and what is redacted', () => {
  const prints = (log: unknown, key = 'key') =>
    parseSarif(log, key, null).flatMap(({ findings }) => findings.map(({ fingerprint }) => fingerprint));

  test('a token that is another one in every run leaves the identity alone', () => {
    const log = () =>
      sarifLog([{ path: `https://git.test/a.ts?token=${hex(20)}`, rule: `r ghp_${hex(36)}` }]);
    expect(prints(log())).toEqual(prints(log()));
    // Two of them at once stay two.
    const both = sarifLog([{ path: `a?token=${hex(20)}` }, { path: `a?token=${hex(20)}`, line: 2 }]);
    expect(new Set(prints(both)).size).toBe(2);
  });

  test('a secret that serves as a fingerprint does so under the key of the organization', () => {
    const log = sarifLog([{ print: `ghp_${hex(36)}` }]);
    expect(prints(log)).toEqual(prints(log));
    expect(prints(log)).not.toEqual(prints(log, 'another key'));
    const plain = sarifLog([{ print: hex(36) }]);
    expect(prints(plain)).toEqual(prints(plain, 'another key'));
  });
});
