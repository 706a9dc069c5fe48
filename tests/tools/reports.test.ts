import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { createReportSender } from '../../lib/tools/reports.ts';
import { TEST_SECRET } from '../support/deps.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

let server: ScriptedServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const report = { subject: 'Weekly', content_markdown: '# All is well' };

/** Deps with an observatory whose answer the test scripts. */
async function open(answer: ScriptedAnswer, path = '/observatory') {
  server = await startScriptedServer(() => answer);
  const url = `${server.url}${path}`;
  return createTestToolDeps({
    reports: createReportSender({ findUrl: async () => url, secret: TEST_SECRET, fetch }),
  });
}

describe('send_backup_report', () => {
  it('posts subject and content to /reports/send with the secret', async () => {
    const deps = await open({ status: 202, body: { success: true, message: 'Mailed.' } });
    expect(await answerOf(deps, 'send_backup_report', report)).toEqual({
      subject: 'Weekly',
      http_status: 202,
      message: 'Mailed.',
    });
    expect(server?.received).toMatchObject([
      {
        method: 'POST',
        path: '/observatory/reports/send',
        headers: { 'x-internal-secret': TEST_SECRET, 'content-type': 'application/json' },
        body: JSON.stringify(report),
      },
    ]);
  });

  it.each(['', 'thanks', '{"message":7}'])(
    'succeeds on 2xx, whatever the body: %j',
    async (body) => {
      const deps = await open({ status: 200, body }, '/');
      expect(await answerOf(deps, 'send_backup_report', report)).toMatchObject({
        http_status: 200,
        message: 'the observatory accepted the report',
      });
      expect(server?.received[0]?.path).toBe('/reports/send');
    },
  );

  it.each<[number, unknown, string]>([
    [409, { success: false, error: { code: 'CONFLICT', message: 'not now' } }, '409: not now'],
    [400, { error: 'report_id is required' }, '400: report_id is required'],
    [302, '', '302: Found'],
    [500, 'trouble', '500: Internal Server Error'],
  ])(
    'reports status and message of another answer as a tool error: %i',
    async (status, body, fault) => {
      const deps = await open({ status, body });
      expect(await faultOf(deps, 'send_backup_report', report)).toBe(
        `the observatory answered ${fault}`,
      );
    },
  );

  it.each([401, 403])(
    'names the variable that would allow it when it is refused: %i',
    async (status) => {
      const deps = await open({ status, body: { error: 'log in' } });
      expect(await faultOf(deps, 'send_backup_report', report)).toBe(
        `the observatory answered ${status}: log in; to let this tool mail, set REPORTS_ACCEPT_INTERNAL=true where the observatory runs, and the same INTERNAL_SECRET there and here`,
      );
    },
  );

  it('is a tool error if the observatory does not answer', async () => {
    const deps = await open({});
    await server?.close();
    server = null;
    expect(await faultOf(deps, 'send_backup_report', report)).toBe(
      'the observatory did not answer',
    );
  });

  it('is a tool error when the observatory has no address', async () => {
    const why = new AppError('SERVICE_UNAVAILABLE', 'OBSERVATORY_URL is not set');
    const findUrl = () => Promise.reject(why);
    const reports = createReportSender({ findUrl, secret: TEST_SECRET, fetch });
    expect(await faultOf(createTestToolDeps({ reports }), 'send_backup_report', report)).toBe(
      'OBSERVATORY_URL is not set',
    );
  });

  it.each([{ subject: ' ' }, { content_markdown: '' }])('rejects %j', async (change) => {
    const deps = await open({});
    expect(await faultOf(deps, 'send_backup_report', { ...report, ...change })).toMatch(
      /must not be empty$/,
    );
    expect(server?.received).toEqual([]);
  });
});
