//! Opening the wallets of many owners after a restart, against the least work on their files. In
//! process.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, keccak256};
use custody::{
    Custody as _, LocalCustody, Owner, RecordedCustody, SqliteWalletRecords, WalletRecords,
};
use secp256k1::{PublicKey, Secp256k1, SecretKey};

use super::{Effort, middle, nanos};
use crate::BenchError;
use crate::measure::Ratio;
use crate::report::{Amount, Finding, Limit, Report};

/// The number of owners.
const OWNERS: u64 = 1_000;

const BASE: &str = "reading each file, and a key's address";

pub(super) async fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let top = tempfile::tempdir().map_err(BenchError::io("a folder for wallets"))?;
    let (folder, records) = (top.path().join("wallets"), top.path().join("custody.db"));
    let owners: Vec<Owner> = (1..=OWNERS)
        .map(|number| Owner::new(196, Address::left_padding_from(&number.to_be_bytes())))
        .collect();
    let custody = open(&folder, &records).await?;
    for owner in &owners {
        custody.get_or_create(*owner).await?;
    }
    drop(custody);
    let (mut opened, mut least) = (Vec::new(), Vec::new());
    // The first round warms all up.
    for round in 0..=effort.rounds {
        let begun = Instant::now();
        let custody = open(&folder, &records).await?;
        for owner in &owners {
            let found = custody.find(*owner).await?;
            black_box(found.ok_or(BenchError::Answer { what: "wallet" })?);
        }
        let ours = begun.elapsed();
        drop(custody);
        let begun = Instant::now();
        let files = least_work(&folder)?;
        let base = begun.elapsed();
        eprintln!("  {files} files in {ours:?}, the least work in {base:?}");
        if round > 0 {
            opened.push(nanos(ours));
            least.push(nanos(base));
        }
    }
    let time = |all: &[u64]| Amount::Time(Duration::from_nanos(middle(all)));
    report.add(Finding {
        name: "1,000 wallets opened after a restart",
        ours: time(&opened),
        limit: Limit::AtMost(Amount::Time(Duration::from_secs(1))),
    });
    report.add(Finding {
        name: "1,000 wallets opened, to the least work",
        ours: time(&opened),
        limit: Limit::Times(Ratio::thousandths(12_000), BASE, time(&least)),
    });
    Ok(())
}

/// Opens the wallets as a server does when it starts. Stretching the secret is left out.
async fn open(folder: &Path, records: &Path) -> Result<RecordedCustody, BenchError> {
    let records = SqliteWalletRecords::open(records.to_owned());
    let records: Arc<dyn WalletRecords> = Arc::new(records.map_err(custody::CustodyError::from)?);
    let open =
        |folder: &Path| LocalCustody::open_weakly_stretched(folder, "the operator's secret".into());
    Ok(RecordedCustody::open(folder, records, open).await?)
}

/// Reads each file, and derives the address of a key for it. Returns the number of files.
fn least_work(folder: &Path) -> Result<usize, BenchError> {
    let curve = Secp256k1::signing_only();
    let key = SecretKey::from_byte_array([0x5a; 32])?;
    let mut files = 0_usize;
    for entry in fs::read_dir(folder).map_err(BenchError::io(folder))? {
        let path = entry.map_err(BenchError::io(folder))?.path();
        black_box(fs::read(&path).map_err(BenchError::io(&path))?);
        let public = PublicKey::from_secret_key(&curve, black_box(&key)).serialize_uncompressed();
        black_box(keccak256(public.get(1..).unwrap_or_default()));
        files = files.saturating_add(1);
    }
    Ok(files)
}
