//! Whoever can write into the folder of the wallets, or restores an old copy of it or of its
//! records, takes no money and gives no owner another wallet: the server refuses the owner of the
//! file by the fault's name, and nobody else.

use std::fs;

use alloy_primitives::{Address, B256};
use dev_chain::BUYER;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::process::actions::desk::{Desk, withdraw};
use crate::process::buyer::{Answer, Buyer};
use crate::process::server::{Server, run};

/// A desk with the wallets of two payers: the buyer's, who has money in it, and a thief's.
struct Stage {
    desk: Desk,
    thief: Buyer,
    /// The thief's wallet.
    wallet: Value,
}

impl Stage {
    async fn open() -> (Self, Server) {
        let (desk, server) = Desk::open().await;
        desk.endow();
        let thief = Buyer::with_key(&B256::repeat_byte(0x77));
        desk.give_a_dollar(thief.address());
        let wallet = sub_wallet(&thief, &server).await;
        let wallet = wallet.body()["data"]["sub_wallet"].clone();
        let stage = Self {
            desk,
            thief,
            wallet,
        };
        (stage, server)
    }

    /// Checks that the thief is refused with this reason everywhere, that operators see its file
    /// and the public does not, and that the buyer is served.
    async fn refuses_the_thief(&self, server: &Server, reason: &str) {
        let file = self.desk.wallet_file(self.thief.address());
        let file = file.file_name().unwrap().to_str().unwrap();
        let answer = sub_wallet(&self.thief, server).await;
        self.assert_refused(&answer, reason);
        // The way on which money would leave.
        let body = withdraw().body;
        let url = server.url("/auto-withdraw");
        let unpaid = self.thief.try_post(&url, &body, None).await.unwrap();
        let payment = self.thief.sign_offer(&unpaid, "/auto-withdraw", 0);
        let answer = self.thief.try_post(&url, &body, Some(&payment.header));
        self.assert_refused(&answer.await.unwrap(), reason);

        let buyer = self.desk.buy_sub_wallet(server).await;
        assert_eq!(buyer["sub_wallet"], self.desk.wallet.to_string());
        let detail = self.desk.world.buyer.get(server, "/status/detail").await;
        let owner = format!("eip155:196:{}", self.thief.address());
        let row = json!({ "file": file, "owner": owner, "code": reason });
        assert_eq!(detail.body()["wallet_files"], json!([row]));
        let status = self.desk.world.buyer.get(server, "/status").await;
        assert_eq!(status.status, 200);
        assert!(!status.text.contains("eip155-196-"), "{}", status.text);
        let metrics = self.desk.world.buyer.get(server, "/metrics").await;
        let gauge = format!("svc_wallet_files_unusable{{code=\"{reason}\"}} 1\n");
        assert!(metrics.text.contains(&gauge), "{}", metrics.text);
        let log = server.log();
        assert!(log.contains(file) && log.contains(reason), "{log}");
        let ended = self.wallets(&["check"]);
        assert_eq!(ended.0, 1, "{}", ended.1);
        assert!(
            ended.1.contains(&format!("{owner}: {reason}: ")),
            "{}",
            ended.1
        );
    }

    fn assert_refused(&self, answer: &Answer, reason: &str) {
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert_eq!(answer.error("code"), "upstream_unavailable");
        assert_eq!(answer.error("reason"), reason);
        assert_eq!(answer.error("retryable"), false);
        answer.assert_uncharged();
    }

    async fn serves_the_thief(&self, server: &Server) {
        let answer = sub_wallet(&self.thief, server).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.body()["data"]["sub_wallet"], self.wallet);
        let detail = self.desk.world.buyer.get(server, "/status/detail").await;
        assert_eq!(detail.body()["wallet_files"], json!([]));
    }

    /// Runs `api-server wallets`. Returns the exit code and the output.
    fn wallets(&self, arguments: &[&str]) -> (i32, String) {
        let config = self.desk.world.folder.path().join("api.toml");
        let config = ["--config", config.to_str().unwrap()];
        let ended = run(&[&["wallets"], arguments, &config].concat(), &[]);
        (ended.code, format!("{}{}", ended.stdout, ended.stderr))
    }
}

async fn sub_wallet(buyer: &Buyer, server: &Server) -> Answer {
    let payment = buyer.sign(server, "/sub-wallet", 0).await;
    buyer.present(server, &payment).await
}

/// The victim's file in the thief's place, a removed file, and a restored one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_and_a_removed_file_refuse_their_owner_and_a_restored_one_serves_again() {
    let (stage, server) = Stage::open().await;
    server.stop().await;
    let (desk, theirs) = (&stage.desk, stage.desk.wallet_file(stage.thief.address()));
    let kept = fs::read_to_string(&theirs).unwrap();
    let victims = fs::read_to_string(desk.wallet_file(BUYER.address)).unwrap();
    let before = desk.standing(&withdraw());

    desk.restore(&theirs, &victims);
    let server = desk.start().await;
    stage
        .refuses_the_thief(&server, "wallet_file_altered")
        .await;
    // The thief tells whose wallet it would be, too.
    let owned = |text: &str| {
        text.replace(
            &format!("{}", BUYER.address),
            &stage.thief.address().to_string(),
        )
    };
    desk.restore(&theirs, &owned(&victims));
    stage
        .refuses_the_thief(&server, "wallet_file_altered")
        .await;
    server.stop().await;

    fs::remove_file(&theirs).unwrap();
    let server = desk.start().await;
    stage
        .refuses_the_thief(&server, "wallet_file_missing")
        .await;
    assert!(!theirs.exists());
    // Restored, it counts at once.
    desk.restore(&theirs, &kept);
    stage.serves_the_thief(&server).await;
    assert_eq!(stage.wallets(&["check"]).0, 0);
    server.stop().await;
    desk.assert_untouched(&before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_folder_refuses_the_start_and_old_records_refuse_their_owner() {
    let (desk, server) = Desk::open().await;
    server.stop().await;
    let records = desk.world.ledger().with_extension("custody.db");
    let backup = fs::read(&records).unwrap();

    // A volume that is not mounted.
    let away = desk.world.folder.path().join("away");
    fs::rename(desk.wallets(), &away).unwrap();
    fs::create_dir(desk.wallets()).unwrap();
    let ended = desk.spawn().ended().await;
    ended.error(
        2,
        &["the folder of the wallets is empty, and 1 of its wallets are recorded"],
    );
    assert_eq!(fs::read_dir(desk.wallets()).unwrap().count(), 0);
    fs::remove_dir(desk.wallets()).unwrap();
    fs::rename(&away, desk.wallets()).unwrap();

    // Somebody else gets a wallet, and the records of before are restored.
    let server = desk.start().await;
    desk.endow();
    let thief = Buyer::with_key(&B256::repeat_byte(0x77));
    desk.give_a_dollar(thief.address());
    let wallet = sub_wallet(&thief, &server).await.body()["data"]["sub_wallet"].clone();
    server.stop().await;
    let stage = Stage {
        desk,
        thief,
        wallet,
    };
    for of_log in ["custody.db-wal", "custody.db-shm"] {
        let file = stage.desk.world.ledger().with_extension(of_log);
        assert!(!file.exists(), "{}", file.display());
    }
    fs::write(&records, &backup).unwrap();
    let server = stage.desk.start().await;
    stage
        .refuses_the_thief(&server, "wallet_file_unknown")
        .await;
    // It is taken over on purpose, after the server has ended.
    let theirs = stage.desk.wallet_file(stage.thief.address());
    let adopt = ["adopt", "--yes", theirs.to_str().unwrap()];
    let (code, said) = stage.wallets(&adopt);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("(custody_folder_in_use)"), "{said}");
    server.stop().await;
    let (code, said) = stage.wallets(&adopt);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("no wallet of its owner is recorded yet"),
        "{said}"
    );
    let server = stage.desk.start().await;
    stage.serves_the_thief(&server).await;
    server.stop().await;
}

/// Kills the server while it makes wallets for many payers. The next one starts, and everybody has
/// the wallet whose address was told, and one wallet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_wallets_are_made_leads_to_a_start_with_the_wallets_that_were_told() {
    let (desk, mut server) = Desk::open().await;
    for (round, answers) in [1, 2, 4].into_iter().enumerate() {
        let byte = |number: usize| u8::try_from(16 * (round + 1) + number).unwrap();
        let payers = (0..8).map(|number| Buyer::with_key(&B256::repeat_byte(byte(number))));
        let payers: Vec<Buyer> = payers.collect();
        let mut calls = JoinSet::new();
        for payer in &payers {
            desk.give_a_dollar(payer.address());
            let payment = payer.sign(&server, "/sub-wallet", 0).await;
            let (payer, url) = (payer.clone(), server.url("/sub-wallet"));
            calls.spawn(async move {
                let answer = payer.try_get(&url, Some(&payment.header)).await;
                (payer.address(), answer)
            });
        }
        let mut told = Vec::new();
        let mut note = |(payer, answer): (Address, Option<Answer>)| {
            let answer = answer.filter(|answer| answer.status == 200);
            told.extend(answer.map(|it| (payer, it.body()["data"]["sub_wallet"].clone())));
        };
        for _ in 0..answers {
            note(calls.join_next().await.unwrap().unwrap());
        }
        server.killer().kill();
        for call in calls.join_all().await {
            note(call);
        }
        assert!(!told.is_empty());
        server = desk.start().await;
        let detail = desk.world.buyer.get(&server, "/status/detail").await;
        assert_eq!(detail.body()["wallet_files"], json!([]), "{}", server.log());
        for payer in &payers {
            let answer = sub_wallet(payer, &server).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let now = answer.body()["data"]["sub_wallet"].clone();
            let told = told.iter().find(|(told, _)| *told == payer.address());
            assert!(told.is_none_or(|(_, told)| *told == now), "{told:?} {now}");
        }
    }
    server.stop().await;
}
