//! The transport over standard input and output, one message to a line, for an agent that starts
//! the server itself. The dispatcher decides the answers.

mod lines;
mod work;

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use self::lines::{Line, Lines};
use self::work::Work;
use crate::mcp::{Dispatcher, Toolbox};
use crate::rpc::Fault;

/// The most messages in progress. At this number the next line waits until one is answered.
pub(crate) const IN_FLIGHT: usize = 64;
/// The most answers that wait to be written.
const WAITING: usize = 64;

/// Serves until the input ends, then answers the messages in progress.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub(crate) async fn serve<T: Toolbox>(
    dispatcher: Arc<Dispatcher<T>>,
    max_line_bytes: usize,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (answers, written) = mpsc::channel(WAITING);
    let writer = tokio::spawn(write(written, output));
    let mut lines = Lines::new(input, max_line_bytes);
    let read = async {
        let mut work = Work::default();
        loop {
            let line = tokio::select! {
                biased;
                () = answers.closed() => break,
                () = work.one_done(), if !work.is_empty() => continue,
                line = lines.next(), if work.len() < IN_FLIGHT => line?,
            };
            match line {
                Line::End => break,
                Line::TooLong => {
                    let message = format!("the line is longer than {max_line_bytes} bytes");
                    let answer = Fault::invalid_request(message).answer(None);
                    drop(answers.send(answer.body.unwrap_or_default()).await);
                }
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => work.take(&dispatcher, line, &answers),
            }
        }
        work.finish().await;
        Ok(())
    };
    let read = read.await;
    drop(answers);
    let wrote = writer.await.unwrap_or(Ok(()));
    read.and(wrote)
}

async fn write(
    mut answers: mpsc::Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(mut answer) = answers.recv().await {
        answer.push(b'\n');
        output.write_all(&answer).await?;
        output.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
