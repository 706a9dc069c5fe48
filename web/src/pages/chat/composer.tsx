import { Button, Group, Textarea } from '@mantine/core';
import { PaperPlaneIcon, StopIcon } from '@radix-ui/react-icons';
import { type FormEvent, type KeyboardEvent, useState } from 'react';
import classes from './chat.module.css';

interface ComposerProps {
  onAsk(question: string): void;
  /** Stops the current answer. Undefined while there is none. */
  onStop?: (() => void) | undefined;
}

/** The input for the next question. Enter sends it, Shift+Enter starts a new line. */
export function Composer({ onAsk, onStop }: ComposerProps) {
  const [question, setQuestion] = useState('');
  const canAsk = question.trim() !== '' && onStop === undefined;
  const ask = () => {
    if (!canAsk) return;
    setQuestion('');
    onAsk(question.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // In an input method, Enter only confirms a character.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    ask();
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    ask();
  };
  return (
    <form onSubmit={onSubmit} className={classes.composer}>
      <Group align="end" wrap="nowrap" gap="sm">
        <Textarea
          aria-label="Question"
          placeholder="Ask about your backups"
          value={question}
          onChange={({ currentTarget }) => setQuestion(currentTarget.value)}
          onKeyDown={onKeyDown}
          maxLength={10_000}
          autosize
          minRows={1}
          maxRows={8}
          flex="1 1 0"
          autoFocus
        />
        {onStop ? (
          <Button variant="default" leftSection={<StopIcon />} onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button type="submit" disabled={!canAsk} leftSection={<PaperPlaneIcon />}>
            Ask
          </Button>
        )}
      </Group>
    </form>
  );
}
