import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { observatoryRoute, refused, sendData, wrapped } from '../base/answers.ts';
import { runningTurn } from '../base/chat-events.ts';
import { uuid } from '../base/input.ts';
import type { ObservatoryDeps } from '../base/observatory-deps.ts';
import { decideConfirmation } from './confirmations.ts';

const common = { ...observatoryRoute, tag: 'Chat', access: 'user' } as const;

/** The endpoints for running turns: list them, stop one, decide what one asks. */
export const runningTurnEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/chat/turns',
      summary: 'List your running turns of a session that survive a disconnect',
      description:
        'Each contains the call that it waits for you to approve. Empty when none is running: the answers are then among the messages of the session.',
      idFields: ['session_id'],
      query: z.object({ session_id: uuid }),
      responses: {
        200: wrapped('The running turns.', z.array(runningTurn)),
        503: refused('The store of running turns does not answer.'),
      },
    },
    async ({ query }, { chat }: ObservatoryDeps, c) => {
      const turns = await chat.runningTurns.list(c.get('user'), query.session_id);
      return sendData(c, 'Read the running turns', turns);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat/stop',
      summary: 'Stop one of your turns that survive a disconnect',
      description:
        'It ends within a second and is stored as failed, with the part that was written.',
      idFields: ['session_id'],
      body: {
        encoding: 'json',
        schema: z
          .object({
            session_id: uuid,
            request_id: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be the id of a request'),
          })
          .meta({ id: 'ChatStop' }),
      },
      responses: {
        200: wrapped('It is being stopped.', z.object({ request_id: z.string() })),
        404: refused('No such turn of yours is running.'),
        503: refused('The store of running turns does not answer.'),
      },
    },
    async ({ body }, { chat }: ObservatoryDeps, c) => {
      const { session_id: sessionId, request_id } = body;
      const turn = { username: c.get('user'), sessionId, requestId: request_id };
      if (!(await chat.runningTurns.stop(turn))) {
        throw new AppError('NOT_FOUND', 'no such turn is running');
      }
      return sendData(c, 'Stopping the turn', { request_id });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/chat/confirm',
      summary: 'Approve or reject a tool call that one of your turns waits for',
      idFields: ['confirm_id'],
      body: {
        encoding: 'json',
        schema: z
          .object({
            confirm_id: uuid,
            approve: z.boolean().optional(),
            approved: z.boolean().optional().meta({ description: 'The same as approve.' }),
          })
          .refine(({ approve, approved }) => (approve ?? approved) !== undefined, {
            message: 'must be given',
            path: ['approve'],
          })
          .refine(({ approve, approved }) => (approve ?? approved) === (approved ?? approve), {
            message: 'must not differ from approve',
            path: ['approved'],
          })
          .meta({ id: 'ChatDecision' }),
      },
      responses: {
        200: wrapped(
          'The decision was stored.',
          z.object({
            confirm_id: z.guid(),
            approved: z.boolean(),
            status: z.enum(['approved', 'rejected']),
          }),
        ),
        404: refused('No such confirmation of yours.'),
        409: refused('It was already decided or has expired.'),
        503: refused('The store of confirmations does not answer.'),
      },
    },
    async ({ body }, { chat }: ObservatoryDeps, c) => {
      const { confirm_id, approve, approved = false } = body;
      const status = await decideConfirmation(chat.confirmations, {
        id: confirm_id,
        username: c.get('user'),
        approve: approve ?? approved,
      });
      const data = { confirm_id, approved: status === 'approved', status };
      return sendData(c, 'Decided', data);
    },
  ),
];
