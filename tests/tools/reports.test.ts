import { afterEach, describe, expect, it } from 'vitest';
import { createReportSender } from '../../lib/tools/reports.ts';
import { TEST_SECRET } from '../support/deps.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { answerOf, createTestHandles, faultOf } from '../support/tools.ts';

let server: ScriptedServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const report = { subject: 'Weekly', content_markdown: '# All is well' };

/** Handles whose observatory answers as the test says. */
async function open(answer: ScriptedAnswer, path = '/observatory') {
  server = await startScriptedServer(() => answer);
  const url = `${server.url}${path}`;
  return createTestHandles({ reports: createReportSender({ url, secret: TEST_SECRET, fetch }) });
}

describe('send_backup_report', () => {
  it('posts subject and content to /reports/send with the secret', async () => {
    const handles = await open({ status: 202, body: { success: true, message: 'Mailed.' } });
    expect(await answerOf(handles, 'send_backup_report', report)).toEqual({
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
    'succeeds on 2xx whatever the body: %j',
    async (body) => {
      const handles = await open({ status: 200, body }, '/');
      expect(await answerOf(handles, 'send_backup_report', report)).toMatchObject({
        http_status: 200,
        message: 'the observatory took the report',
      });
      expect(server?.received[0]?.path).toBe('/reports/send');
    },
  );

  it.each<[number, unknown, string]>([
    [401, { success: false, error: { code: 'UNAUTHORIZED', message: 'log in' } }, '401: log in'],
    [400, { error: 'report_id is required' }, '400: report_id is required'],
    [302, '', '302: Found'],
    [500, 'trouble', '500: Internal Server Error'],
  ])('is a tool error naming status and message: %i', async (status, body, fault) => {
    const handles = await open({ status, body });
    expect(await faultOf(handles, 'send_backup_report', report)).toBe(
      `the observatory answered ${fault}`,
    );
  });

  it('is a tool error when the observatory is not there', async () => {
    const handles = await open({});
    await server?.close();
    server = null;
    expect(await faultOf(handles, 'send_backup_report', report)).toBe(
      'the observatory did not answer',
    );
  });

  it('is a tool error when the observatory has no address', async () => {
    const reports = createReportSender({ url: null, secret: TEST_SECRET, fetch });
    expect(await faultOf(createTestHandles({ reports }), 'send_backup_report', report)).toContain(
      'OBSERVATORY_URL',
    );
  });

  it.each([{ subject: ' ' }, { content_markdown: '' }])('refuses %j', async (change) => {
    const handles = await open({});
    expect(await faultOf(handles, 'send_backup_report', { ...report, ...change })).toMatch(
      /must not be empty$/,
    );
    expect(server?.received).toEqual([]);
  });
});
