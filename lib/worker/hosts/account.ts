import * as z from 'zod';
import type { GitHostClient } from './client.ts';
import { listPages } from './list-pages.ts';

/** An installation of the app. */
export interface AppInstallation {
  id: number;
  account: string;
  /** `User` or `Organization`. */
  accountType: string;
  /** `all` repositories of the account, or only those `selected`. */
  selection: string;
  /** The account has suspended the app, which then cannot read anything there. */
  isSuspended: boolean;
}

const user = z.object({ login: z.string().min(1) });
const installationPage = z.object({
  installations: z.array(
    z.object({
      id: z.int(),
      account: z.object({
        login: z.string().optional(),
        slug: z.string().optional(),
        type: z.string().optional(),
      }),
      repository_selection: z.string().default('all'),
      suspended_at: z.string().nullish(),
    }),
  ),
});

/** The account that the client's token belongs to. Throws RequestError, ZodError. */
export async function readAccount(client: GitHostClient): Promise<string> {
  const { data } = await client.request('GET /user');
  return user.parse(data).login;
}

/** The installations of the app that the user can access. Throws RequestError, ZodError. */
export async function listInstallations(client: GitHostClient): Promise<AppInstallation[]> {
  const installations: AppInstallation[] = [];
  for await (const page of listPages(client, 'GET /user/installations', {}, installationPage)) {
    for (const { id, account, repository_selection, suspended_at } of page.installations) {
      installations.push({
        id,
        account: account.login ?? account.slug ?? String(id),
        accountType: account.type ?? 'Enterprise',
        selection: repository_selection,
        isSuspended: typeof suspended_at === 'string',
      });
    }
  }
  return installations;
}
