//! Reads an input line by line, within bounds.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::rpc::without_mark;

/// The result of one reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line above the limit; its text is dropped.
    TooLong,
    /// The end of the input.
    End,
}

/// The lines of an input.
pub(super) struct Lines<R> {
    input: R,
    limit: usize,
    line: Vec<u8>,
    too_long: bool,
    /// Whether no line has ended yet. The first one may begin with a byte-order mark.
    is_first: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Reads `input`, whose lines may have at most `limit` bytes.
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            line: Vec::new(),
            too_long: false,
            is_first: true,
        }
    }

    /// The next line. Nothing is lost when the future is dropped before it resolves.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                let is_empty = self.line.is_empty() && !self.too_long;
                return Ok(if is_empty { Line::End } else { self.whole() });
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let (part, used) = match end {
                Some(end) => (chunk.get(..end).unwrap_or_default(), end.saturating_add(1)),
                None => (chunk, chunk.len()),
            };
            if self.too_long || self.line.len().saturating_add(part.len()) > self.limit {
                self.too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            self.input.consume(used);
            if end.is_some() {
                return Ok(self.whole());
            }
        }
    }

    fn whole(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first) {
            line.drain(..line.len().saturating_sub(without_mark(&line).len()));
        }
        if std::mem::take(&mut self.too_long) {
            Line::TooLong
        } else {
            Line::Whole(line)
        }
    }
}
