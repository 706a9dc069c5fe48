import { Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ApiError } from '../../../api/client.ts';
import { archive as archiveQuery, type RepositoryPath } from '../../../api/queries.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Loaded } from '../../../parts/loading.tsx';
import { BrowseVersion } from './browse.tsx';
import { ChooseVersion } from './choose-version.tsx';
import { CompareVersions } from './compare.tsx';
import { RestoreForm } from './restore-form.tsx';
import { RestoreList } from './restore-list.tsx';

/** Finds the version to restore by its date or by what changed, and its files. */
export function RepositoryRestore({ path }: { path: RepositoryPath }) {
  const query = useQuery(archiveQuery(path));
  const { error } = query;
  if (error instanceof ApiError && error.status === 503) {
    return (
      <Empty title="The archive is not on this server">
        It is on the worker’s machine. Open the page of the server that runs there, or restore with
        the command that is shown with each version.
      </Empty>
    );
  }
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Empty title="There is nothing to restore from yet">
        The archive folder has no archive of this repository. The next good backup creates it.
      </Empty>
    );
  }
  return (
    <Loaded query={query} lines={4}>
      {({ format }) =>
        format === 'bundle' ? (
          <Versions path={path} />
        ) : (
          <Empty title="This archive has no versions">
            It is a tar.gz of an earlier release. The next backup that finds a change creates an
            archive with versions; until then, download it on the tab Versions.
          </Empty>
        )
      }
    </Loaded>
  );
}

function Versions({ path }: { path: RepositoryPath }) {
  const { version } = useSearch({ from: '/shell/repositories/$owner/$name' });
  const navigate = useNavigate();
  const choose = (chosen: number) =>
    void navigate({
      to: '/repositories/$owner/$name',
      params: path,
      search: { tab: 'restore', version: chosen },
      replace: true,
      resetScroll: false,
    });
  return (
    <Stack gap="lg">
      <ChooseVersion path={path} chosen={version ?? null} onChoose={choose} />
      {version !== undefined && (
        // Another version starts anew: its folders may not exist.
        <Stack key={version} gap="lg" component="section" aria-label={`Version ${version}`}>
          <CompareVersions path={path} version={version} />
          <Stack gap="xs">
            <Title order={2} size="h4">
              Files of version {version}
            </Title>
            <BrowseVersion path={path} version={version} />
          </Stack>
          <RestoreForm path={path} version={version} />
        </Stack>
      )}
      <RestoreList repository={`${path.owner}/${path.name}`} />
    </Stack>
  );
}
