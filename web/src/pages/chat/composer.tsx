import { Button, Group, Textarea } from '@mantine/core';
import { PaperPlaneIcon, StopIcon } from '@radix-ui/react-icons';
import { type FormEvent, type KeyboardEvent, useState } from 'react';
import classes from './chat.module.css';

interface ComposerProps {
  onAsk(question: string): void;
  /** Ends the answer that is under way; none while nothing is. */
  onStop?: (() => void) | undefined;
}

/** Where the next question is written. Enter asks, Shift+Enter begins a line. */
export function Composer({ onAsk, onStop }: ComposerProps) {
  const [question, setQuestion] = useState('');
  const canAsk = question.trim() !== '' && onStop === undefined;
  const ask = () => {
    if (!canAsk) return;
    setQuestion('');
    onAsk(question.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of a character.
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
