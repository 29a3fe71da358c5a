//! A durable set of used nonces: an append-only file, with one `fdatasync` for all waiting records.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use alloy_primitives::{Address, B256};
use tokio::sync::oneshot;

use crate::BenchError;

/// Most records that share one `fdatasync`.
const BATCH: usize = 256;

/// Nonces, each usable once.
#[derive(Debug)]
pub struct NonceLog {
    used: Mutex<HashSet<B256>>,
    records: mpsc::Sender<Record>,
}

#[derive(Debug)]
struct Record {
    payer: Address,
    nonce: B256,
    durable: oneshot::Sender<()>,
}

impl NonceLog {
    /// A new, empty log.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, BenchError> {
        let file = File::create(path).map_err(BenchError::io(path))?;
        let (records, waiting) = mpsc::channel();
        thread::spawn(move || write(file, &waiting));
        Ok(Self {
            used: Mutex::default(),
            records,
        })
    }

    /// Uses a nonce: true once it is on disk, false when it was used before or cannot be written.
    pub async fn claim(&self, payer: Address, nonce: B256) -> bool {
        let new = self
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(nonce);
        let (durable, written) = oneshot::channel();
        new && self
            .records
            .send(Record {
                payer,
                nonce,
                durable,
            })
            .is_ok()
            && written.await.is_ok()
    }
}

/// Takes all waiting records, writes them at once, makes them durable, and informs their callers.
fn write(mut file: File, waiting: &mpsc::Receiver<Record>) {
    let mut bytes = Vec::new();
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter().take(BATCH.saturating_sub(1)));
        bytes.clear();
        for record in &batch {
            bytes.extend_from_slice(record.payer.as_slice());
            bytes.extend_from_slice(record.nonce.as_slice());
        }
        if file
            .write_all(&bytes)
            .and_then(|()| file.sync_data())
            .is_err()
        {
            // Dropping the batch tells its callers that nothing is durable.
            return;
        }
        for record in batch {
            let _ = record.durable.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_nonce_is_used_once_and_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nonces");
        let log = NonceLog::create(&path).unwrap();
        let (payer, nonce) = (Address::repeat_byte(1), B256::repeat_byte(2));
        assert!(log.claim(payer, nonce).await);
        assert!(!log.claim(payer, nonce).await);
        assert!(log.claim(payer, B256::repeat_byte(3)).await);
        let written = std::fs::read(&path).unwrap();
        assert_eq!(written.len(), 2 * 52);
        assert_eq!(written[20..52], [2; 32]);
    }
}
