import { Button, Group, List, Modal, Radio, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { installation } from '../../api/installation.ts';
import { embeddingModels, switchModel } from '../../api/settings.ts';
import { countOf, formatCount } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';

type Model = Schemas['EmbeddingModel'];

interface SwitchModelProps {
  isOpen: boolean;
  close(): void;
  /** How many records the newest generation has; 0 if there is none. */
  records: number;
  onStarted(generation: number): void;
}

/** Lets the user choose a model for vectors, and shows what building them takes before it starts. */
export function SwitchModel({ isOpen, close, records, onStarted }: SwitchModelProps) {
  const query = useQuery({ ...embeddingModels, enabled: isOpen });
  const [chosen, setChosen] = useState<Model | null>(null);
  const starting = useMutation({
    mutationFn: switchModel,
    onSuccess: ({ generation_id }) => {
      leave();
      onStarted(generation_id);
    },
  });
  const leave = () => {
    setChosen(null);
    starting.reset();
    close();
  };
  return (
    <Modal opened={isOpen} onClose={leave} title="Choose a model for the vectors">
      {chosen === null ? (
        <Loaded query={query}>
          {({ models, active_model_id }) => (
            <Choice models={models} active={active_model_id} choose={setChosen} leave={leave} />
          )}
        </Loaded>
      ) : (
        <Stack>
          {starting.error && <Failure error={starting.error} />}
          <Text style={{ overflowWrap: 'anywhere' }}>
            Build vectors for all records with <bdi>{chosen.id}</bdi>?
          </Text>
          <Cost model={chosen} records={records} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setChosen(null)} disabled={starting.isPending}>
              Back
            </Button>
            <Button onClick={() => starting.mutate(chosen.id)} loading={starting.isPending}>
              Build
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

interface ChoiceProps {
  models: readonly Model[];
  active: string | null;
  choose(model: Model): void;
  leave(): void;
}

function Choice({ models, active, choose, leave }: ChoiceProps) {
  const [id, setId] = useState(models[0]?.id ?? '');
  const model = models.find((model) => model.id === id);
  return (
    <Stack>
      <Radio.Group
        label="Model"
        description="Only free models are listed."
        value={id}
        onChange={setId}
      >
        <Stack gap="xs" mt="xs">
          {models.map((model) => (
            <Radio
              key={model.id}
              value={model.id}
              label={<bdi>{model.name}</bdi>}
              description={`${model.id}, ${formatCount(model.dimensions)} dimensions${model.id === active ? ', in use' : ''}`}
              style={{ overflowWrap: 'anywhere' }}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Group justify="flex-end">
        <Button variant="default" onClick={leave}>
          Cancel
        </Button>
        <Button onClick={() => model && choose(model)} disabled={model === undefined}>
          Continue
        </Button>
      </Group>
    </Stack>
  );
}

/** What building the vectors takes. The server's own model needs no gateway. */
function Cost({ model, records }: { model: Model; records: number }) {
  const { data } = useQuery(installation);
  const isBuiltIn = model.id === data?.models.embedding_default;
  return (
    <List size="sm">
      <List.Item>
        Every log, result and investigation is read once
        {records > 0 && `, about ${countOf(records, 'record', 'records')}`}.
      </List.Item>
      <List.Item>
        {isBuiltIn
          ? 'It is free: the server computes the vectors itself, and nothing leaves it.'
          : 'It is free: the gateway lists the model as free, but may limit the rate. The text of each record is sent to the gateway, without secrets.'}
      </List.Item>
      <List.Item>Searches stay as they are until you switch to the new vectors.</List.Item>
    </List>
  );
}
