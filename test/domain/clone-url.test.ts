import { describe, expect, it } from 'vitest';
import { readClonePlace } from '#domain/clone-url.ts';

const strict = { local: false, reachable: 'public' as const };
const local = { local: true, reachable: 'public' as const };

describe('the address of a repository', () => {
  it.each([
    [
      'https://github.com/team/service.git',
      strict,
      {
        cloneUrl: 'https://github.com/team/service.git',
        provider: 'github',
        fullName: 'team/service',
        host: 'github.com',
      },
    ],
    [
      'https://GITLAB.com/group/sub/service/',
      strict,
      {
        cloneUrl: 'https://gitlab.com/group/sub/service',
        provider: 'gitlab',
        fullName: 'sub/service',
        host: 'gitlab.com',
      },
    ],
    [
      'http://git.example.com:8080/x.git',
      strict,
      {
        cloneUrl: 'http://git.example.com:8080/x.git',
        provider: 'manual',
        fullName: 'x',
        host: 'git.example.com',
      },
    ],
    [
      '/srv/git/a b',
      local,
      { cloneUrl: 'file:///srv/git/a%20b', provider: 'local', fullName: 'a b', host: null },
    ],
    [
      'file:///srv/git/x/',
      local,
      { cloneUrl: 'file:///srv/git/x', provider: 'local', fullName: 'x', host: null },
    ],
  ])('%s is read', (text, allowed, place) => {
    expect(readClonePlace(text, allowed)).toEqual(place);
  });

  it.each([
    'file:///etc',
    '/etc',
    'git@github.com:team/service.git',
    'ssh://git@example.com/x',
    'ext::sh -c id',
    'not a url',
    'https://user:pass@example.com/x',
    'https://example.com/x?token=1',
    'http://localhost/x',
    'http://git.localhost/x',
    'http://127.0.0.1/x',
    'http://0x7f.1/x',
    'http://2130706433/x',
    'http://[::1]/x',
    'http://[::ffff:10.0.0.1]/x',
    'http://169.254.169.254/latest/meta-data',
    'http://10.1.2.3/x',
    'http://metadata.google.internal/x',
  ])('%s is refused', (text) => {
    expect(readClonePlace(text, strict)).toEqual({ problem: expect.stringMatching(/^must /) });
  });

  it('may be private where that is allowed', () => {
    expect(readClonePlace('http://127.0.0.1:9/x', { local: false, reachable: 'all' })).toMatchObject({
      cloneUrl: 'http://127.0.0.1:9/x',
    });
  });
});
