//! Tests of what a failed making of a wallet costs.

use std::sync::Arc;

use alloy_primitives::Address;
use custody::{
    CustodyFuture, LocalCustody, RecordedCustody, SqliteWalletRecords, WalletRecord, WalletRecords,
};
use data_sources::Caller;
use test_support::Dying;

use super::*;

const OWNER: Owner = Owner::new(196, Address::repeat_byte(7));

/// Records whose database fails at one of its writes.
struct Failing(Dying<dyn WalletRecords, CustodyError>);

impl WalletRecords for Failing {
    fn all(&self) -> CustodyFuture<'_, Vec<(Owner, WalletRecord)>> {
        self.0.read(|records| records.all())
    }
    fn unfinished(&self) -> CustodyFuture<'_, Vec<(Owner, u64)>> {
        self.0.read(|records| records.unfinished())
    }
    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<WalletRecord>> {
        self.0.read(|records| records.find(owner))
    }
    fn begin(&self, owner: Owner, now: u64) -> CustodyFuture<'_, ()> {
        self.0.write(|records| records.begin(owner, now))
    }
    fn finish(&self, owner: Owner, wallet: Address, now: u64) -> CustodyFuture<'_, Address> {
        self.0.write(|records| records.finish(owner, wallet, now))
    }
    fn forget(&self, owner: Owner, before: u64) -> CustodyFuture<'_, ()> {
        self.0.write(|records| records.forget(owner, before))
    }
}

/// The call ends uncharged, and its credit pays for what was made, or may have been.
#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_whose_record_or_file_fails_is_paid_for_by_credit() {
    // The write at which the database fails, and whether the folder is gone.
    for (write, is_gone, is_made) in [(2, false, true), (1, false, false), (9, true, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wallets");
        let records = SqliteWalletRecords::open(folder.path().join("wallets.db")).unwrap();
        let records: Arc<dyn WalletRecords> = Arc::new(records);
        let gone = || CustodyError::Records { code: "gone" };
        let failing = Arc::new(Failing(Dying::new(records, write, false, gone)));
        let open =
            |path: &std::path::Path| LocalCustody::open_weakly_stretched(path, "a secret".into());
        let custody = RecordedCustody::open(&path, failing, open).await.unwrap();
        if is_gone {
            std::fs::remove_dir_all(&path).unwrap();
        }
        let meter = Meter::new(Caller::Newcomer);
        let refused = meter.scope(get_or_create(&custody, OWNER)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::UpstreamUnavailable);
        assert_eq!(meter.usage().kept, 1, "{}", refused.reason());
        let files = std::fs::read_dir(&path).into_iter().flatten();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let made = names.filter(|name| name.starts_with("eip155-")).count();
        assert_eq!(made, usize::from(is_made));
    }
}
