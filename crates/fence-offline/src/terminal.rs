//! Questions to the person at the terminal: passwords without an echo, and a confirmation.

use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader, IsTerminal as _, Write as _},
    path::Path,
};

use zeroize::Zeroizing;

use crate::source::{self, SourceError};

const TERMINAL: &str = "/dev/tty";

/// The person cannot be asked, or declines.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no terminal for a password.
    #[error("no terminal to ask for the password: name a file with --password-file")]
    NoTerminalForPassword,
    /// There is no terminal for a confirmation.
    #[error("no terminal to ask on: nothing is signed without a yes (--yes gives it in advance)")]
    NoTerminalForYes,
    /// The password file cannot be read.
    #[error(transparent)]
    File(#[from] SourceError),
    /// Two entries of a new password differ.
    #[error("the two passwords differ")]
    Differ,
    /// A new password is empty.
    #[error("an empty password protects nothing")]
    Empty,
}

/// A password from a file, or from the terminal without an echo. A file's last line break is not
/// part of it. `-` is standard input, `/dev/fd/N` a descriptor.
///
/// # Errors
/// [`AskError`]
pub fn password(file: Option<&Path>, prompt: &str) -> Result<Zeroizing<String>, AskError> {
    let Some(file) = file else {
        return rpassword::prompt_password(prompt)
            .map(Zeroizing::new)
            .map_err(|_| AskError::NoTerminalForPassword);
    };
    let text = Zeroizing::new(source::read(file)?);
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    Ok(Zeroizing::new(line.to_owned()))
}

/// A new password. It is asked for twice and must not be empty.
///
/// # Errors
/// [`AskError`]
pub fn new_password(file: Option<&Path>) -> Result<Zeroizing<String>, AskError> {
    let first = password(file, "New password: ")?;
    if first.is_empty() {
        return Err(AskError::Empty);
    }
    if file.is_none() && *password(None, "The same again: ")? != *first {
        return Err(AskError::Differ);
    }
    Ok(first)
}

/// Asks a question on the terminal, whatever standard input and output are; true only for the word
/// `yes`.
///
/// # Errors
/// [`AskError::NoTerminalForYes`]
pub fn confirm(question: &str) -> Result<bool, AskError> {
    let open = || OpenOptions::new().read(true).write(true).open(TERMINAL);
    let mut terminal = open().map_err(|_| AskError::NoTerminalForYes)?;
    if !terminal.is_terminal() {
        return Err(AskError::NoTerminalForYes);
    }
    let mut answer = String::new();
    write!(terminal, "{question} Type yes: ")
        .and_then(|()| terminal.flush())
        .and_then(|()| BufReader::new(terminal).read_line(&mut answer))
        .map_err(|_| AskError::NoTerminalForYes)?;
    Ok(answer.trim() == "yes")
}
