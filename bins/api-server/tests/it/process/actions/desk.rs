//! The desk of the tests of actions: an owner with a sub-wallet, and the balances of both, in a
//! world whose servers are killed.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, FixedBytes, U256, fixed_bytes, hex};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::sol;
use custody::LocalCustody;
use dev_chain::{BUYER, DEV_ACCOUNTS, USDT0, xlayer};
use serde_json::{Value, json};
use storage::postgres::{Postgres, PostgresOptions};
use wallet_actions::{Intent, PostgresStore, SqliteStore, Store};
use x402_wire::{AuthorizationKey, Network};

use crate::process::buyer::{Answer, Payment};
use crate::process::eventually;
use crate::process::server::{Server, spawn, start_server};
use crate::process::world::World;

sol! {
    function transfer(address to, uint256 amount) external returns (bool);
}

const TARGETS: &str = include_str!("../../../../../../docs/wallet-targets.example.toml");

/// The price of an action, in atoms.
const PRICE: u64 = 50_000;

/// The sub-wallet's USDG at the beginning.
const FUNDS: u64 = 500_000_000;

pub(crate) struct Desk {
    pub(crate) world: World,
    pub(crate) wallet: Address,
    further: String,
}

/// An action to buy, and its effect on the chain.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) route: &'static str,
    pub(crate) body: Value,
    /// The contract and the function of the transaction that makes the effect.
    pub(crate) calls: (Address, FixedBytes<4>),
    /// How much USDG the action takes, in atoms.
    pub(crate) takes: u64,
    /// Whether the owner brings the USDG with an authorization. Otherwise the sub-wallet pays it.
    pub(crate) is_brought: bool,
}

/// A deposit of 0.7 USDG of the owner into the market.
pub(crate) fn invest() -> Act {
    Act {
        route: "/auto-defi-invest",
        body: json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "0.7" }),
        calls: (xlayer::AAVE_POOL, fixed_bytes!("617ba037")),
        takes: 700_000,
        is_brought: true,
    }
}

/// A swap of 0.3 USDG for USD₮0.
pub(crate) fn swap() -> Act {
    let (from, to) = (xlayer::USDG.to_string(), xlayer::USDT0.to_string());
    Act {
        route: "/auto-swap",
        body: json!({
            "chain_id": "196", "from_token": from, "to_token": to, "amount": "0.3", "slippage": "1",
        }),
        calls: (xlayer::DEX_ROUTER, fixed_bytes!("f2c42696")),
        takes: 300_000,
        is_brought: false,
    }
}

/// A withdrawal of 2 USDG to the owner.
pub(crate) fn withdraw() -> Act {
    let token = xlayer::USDG.to_string();
    Act {
        route: "/auto-withdraw",
        body: json!({ "chain_id": "196", "token": token, "amount": "2" }),
        calls: (xlayer::USDG, fixed_bytes!("a9059cbb")),
        takes: 2_000_000,
        is_brought: false,
    }
}

/// The balances and the counts of transactions of the sub-wallet and its owner at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    wallet_usdg: u64,
    wallet_usdt0: u64,
    /// The wallet's balance in the market, with interest.
    supplied: u64,
    owner_usdg: u64,
    /// The sum that the service has received, in all assets.
    received: U256,
    /// How many times the action was executed.
    done: usize,
    /// How many transactions the sub-wallet has sent.
    sent: usize,
}

impl Desk {
    /// Opens a world with a sub-wallet, and starts a server.
    pub(crate) async fn open() -> (Self, Server) {
        Self::open_in(World::of_wallets().await, "").await
    }

    /// Creates the sub-wallet in `world`. Servers of the desk get the lines of `further` in their
    /// configuration.
    pub(crate) async fn open_in(world: World, further: &str) -> (Self, Server) {
        let file = |name: &str, text: &str| {
            let path = world.folder.path().join(name);
            test_support::private_file(&path, text);
            path.display().to_string()
        };
        let wallets = world.folder.path().join("wallets");
        let secret = "the operator's secret";
        // A start takes a second less with it.
        drop(LocalCustody::open_weakly_stretched(&wallets, secret.into()).unwrap());
        let further = format!(
            r#"
custody.provider = "local"
custody.directory = "{wallets}"
custody.secret_file = "{secret}"
wallets.chains = [196]
wallets.reviewed = "{targets}"
wallets.gas_account_key_file = "{gas}"
chains.196.rpc_urls = ["{rpc}"]
chains.196.confirmations = 0
chains.196.block_time_ms = 50
{further}
"#,
            wallets = wallets.display(),
            secret = file("secret", secret),
            targets = file("targets.toml", TARGETS),
            gas = file("wallet-gas.key", &DEV_ACCOUNTS[4].key.to_string()),
            rpc = world.rpc_url(),
        );
        let mut desk = Self {
            world,
            wallet: Address::ZERO,
            further,
        };
        let server = desk.start().await;
        let wallet = desk.buy_sub_wallet(&server).await["sub_wallet"].clone();
        desk.wallet = wallet.as_str().unwrap().parse().unwrap();
        (desk, server)
    }

    pub(crate) async fn buy_sub_wallet(&self, server: &Server) -> Value {
        let payment = self.world.buyer.sign(server, "/sub-wallet", 0).await;
        let answer = self.world.buyer.present(server, &payment).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body()["data"].clone()
    }

    /// Pays calls until the gas account will give enough: the top-ups of an owner are limited to
    /// the sum that it has paid, and coins without a price count as dear.
    pub(crate) async fn earn_gas(&self, server: &Server) {
        for _ in 0..15 {
            self.buy_sub_wallet(server).await;
        }
    }

    fn config(&self) -> PathBuf {
        self.world.config(&self.further)
    }

    /// The folder of the wallets' files.
    pub(crate) fn wallets(&self) -> PathBuf {
        self.world.folder.path().join("wallets")
    }

    /// The file of an owner's wallet.
    pub(crate) fn wallet_file(&self, owner: Address) -> PathBuf {
        self.wallets().join(format!("eip155-196-{owner:#x}.json"))
    }

    /// Writes a wallet's file that only the server may read.
    pub(crate) fn restore(&self, file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) async fn start(&self) -> Server {
        start_server(&self.config(), &[]).await
    }

    /// Starts a server whose gas account gives nothing.
    pub(crate) async fn start_without_gas(&self) -> Server {
        let budget = [("SVC__WALLETS__GAS_TOPUP_BUDGET_USD", "0")];
        start_server(&self.config(), &budget).await
    }

    /// Starts a server that may die before it listens.
    pub(crate) fn spawn(&self) -> Server {
        spawn(&self.config())
    }

    /// Gives the sub-wallet USDG, and coins for gas.
    pub(crate) fn endow(&self) {
        self.give_usdg();
        self.give_coins();
    }

    pub(crate) fn give_usdg(&self) {
        self.give(self.wallet, FUNDS, xlayer::USDG);
    }

    /// Gives another payer a dollar of the first option's asset.
    pub(crate) fn give_a_dollar(&self, payer: Address) {
        self.give(payer, 1_000_000, USDT0);
    }

    fn give(&self, to: Address, amount: u64, token: Address) {
        let amount = U256::from(amount);
        let give = transferCall { to, amount };
        let chain = &self.world.chain;
        chain.call_as(BUYER.address, token, &give).unwrap();
        chain.mine();
    }

    pub(crate) fn give_coins(&self) {
        let send = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction",
            "params": [{ "from": DEV_ACCOUNTS[6].address, "to": self.wallet, "value": "0xde0b6b3a7640000" }],
        });
        let chain = &self.world.chain;
        drop(chain.answer(send.to_string().as_bytes()));
        assert!(!chain.native_balance(self.wallet).is_zero());
    }

    /// The action with the owner's authorization for its amount, if the owner brings it.
    pub(crate) async fn funded(&self, server: &Server, act: &Act) -> Act {
        if !act.is_brought {
            return act.clone();
        }
        let payment = self.pay(server, act).await;
        let refused = self.send(server, act, &payment).await.unwrap();
        assert_eq!(refused.status, 409, "{}", refused.text);
        let asked = refused.error("principal_auth");
        let typed: TypedData = serde_json::from_value(asked.clone()).unwrap();
        let key = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
        let signature = key.sign_hash_sync(&typed.eip712_signing_hash().unwrap());
        let mut act = act.clone();
        act.body["principal_auth"] = json!({
            "signature": hex::encode_prefixed(signature.unwrap().as_bytes()),
            "authorization": asked["message"],
        });
        act
    }

    pub(crate) async fn pay(&self, server: &Server, act: &Act) -> Payment {
        let url = server.url(act.route);
        let unpaid = self.world.buyer.try_post(&url, &act.body, None).await;
        self.world.buyer.sign_offer(&unpaid.unwrap(), act.route, 0)
    }

    /// Sends the action. `None` when the server ends before it has answered.
    pub(crate) async fn send(
        &self,
        server: &Server,
        act: &Act,
        payment: &Payment,
    ) -> Option<Answer> {
        let (buyer, url) = (&self.world.buyer, server.url(act.route));
        buyer.try_post(&url, &act.body, Some(&payment.header)).await
    }

    /// Sends the same payment again until it has its answer. Meanwhile the server may only say that
    /// the payment is in flight or not decided.
    pub(crate) async fn answer(&self, server: &Server, act: &Act, payment: &Payment) -> Answer {
        eventually("the answer", async || {
            let answer = self.send(server, act, payment).await.unwrap();
            let code = answer.body()["error"]["code"].clone();
            match (answer.status, code.as_str()) {
                (200, _) => Some(answer),
                (409, Some("payment_in_flight"))
                | (503, Some("settlement_pending" | "ledger_unavailable")) => None,
                _ => panic!("{} {}\n{}", answer.status, answer.text, server.log()),
            }
        })
        .await
    }

    /// The intent of a payment, from the file or from the database.
    pub(crate) async fn intent(&self, payment: &Payment) -> Option<Intent> {
        let key = AuthorizationKey {
            network: Network::evm(196),
            asset: payment.asset,
            payer: BUYER.address,
            nonce: payment.nonce,
        };
        let store: Box<dyn Store> = match &self.world.database {
            None => {
                let path = self.world.ledger().with_extension("wallets.db");
                Box::new(SqliteStore::open(path).unwrap())
            }
            Some(url) => {
                let postgres = Postgres::new(url.parse().unwrap(), PostgresOptions::default());
                Box::new(PostgresStore::open(postgres.unwrap()).await.unwrap())
            }
        };
        store.of_payment(key.digest()).await.unwrap()
    }

    /// Waits for the end of an intent, and returns the public view of it.
    pub(crate) async fn ended(&self, server: &Server, id: &str) -> Value {
        let target = format!("/intents/{id}");
        eventually("the end of an intent", async || {
            let shown = self.world.buyer.get(server, &target).await;
            assert_eq!(shown.status, 200, "{}", shown.text);
            let shown = shown.body();
            (shown["status"] != "in_progress").then_some(shown)
        })
        .await
    }

    pub(crate) fn standing(&self, act: &Act) -> Standing {
        let chain = &self.world.chain;
        let of = |token, account| -> u64 { chain.balance_of(token, account).unwrap().to() };
        let transactions = chain.transactions();
        let mut own: Vec<_> = transactions.iter().collect();
        own.retain(|found| found.from == self.wallet);
        let (to, selector) = act.calls;
        let decisive = own.iter().filter(|found| {
            found.success && found.to == Some(to) && found.input.starts_with(selector.as_slice())
        });
        Standing {
            wallet_usdg: of(xlayer::USDG, self.wallet),
            wallet_usdt0: of(xlayer::USDT0, self.wallet),
            supplied: of(xlayer::A_USDG, self.wallet),
            owner_usdg: of(xlayer::USDG, BUYER.address),
            received: self.world.received(),
            done: decisive.count(),
            sent: own.len(),
        }
    }

    /// Asserts that since `before` the action was executed once and as a whole and was paid for
    /// once, that no principal is missing, and that no allowance remains.
    pub(crate) fn assert_done_once(&self, act: &Act, before: &Standing, answer: &Answer) {
        let after = self.standing(act);
        let context = format!("{act:?}\n{before:?}\n{after:?}\n{}", answer.text);
        assert_eq!(after.done, before.done + 1, "{context}");
        assert_eq!(
            after.received,
            before.received + U256::from(PRICE),
            "{context}"
        );
        let (brought, spent) = match act.is_brought {
            true => (act.takes, 0),
            false => (0, act.takes),
        };
        assert_eq!(after.wallet_usdg, before.wallet_usdg - spent, "{context}");
        let result = &answer.body()["data"]["result"];
        let (mut supplied, mut bought, mut withdrawn) = (0, 0, 0);
        match act.route {
            "/auto-defi-invest" => supplied = act.takes,
            "/auto-swap" => {
                bought = result["amount_out_atoms"]
                    .as_str()
                    .unwrap()
                    .parse()
                    .unwrap()
            }
            _ => withdrawn = act.takes,
        }
        assert_eq!(
            after.wallet_usdt0,
            before.wallet_usdt0 + bought,
            "{context}"
        );
        let owned = before.owner_usdg + withdrawn - brought;
        assert_eq!(after.owner_usdg, owned, "{context}");
        // Interest accrues, and the market rounds by one.
        let supplied = before.supplied + supplied;
        let range = supplied.saturating_sub(1)..supplied + 10_000;
        assert!(range.contains(&after.supplied), "{context}");
        for spender in [xlayer::AAVE_POOL, xlayer::DEX_APPROVE_PROXY] {
            let left = self
                .world
                .chain
                .allowance(xlayer::USDG, self.wallet, spender);
            assert_eq!(left.unwrap(), U256::ZERO, "{context}");
        }
    }

    /// Asserts that since `before` nothing was sent from the sub-wallet.
    pub(crate) fn assert_untouched(&self, before: &Standing) {
        let now = self.standing(&withdraw());
        let kept = |standing: &Standing| (standing.sent, standing.wallet_usdg);
        assert_eq!(kept(&now), kept(before));
    }

    /// Asserts that nothing was paid unless the sub-wallet has sent a transaction.
    pub(crate) fn assert_paid_only_for_effect(&self, act: &Act, before: &Standing) {
        let now = self.standing(act);
        assert!(
            now.received == before.received || now.sent > before.sent,
            "charged without effect: {before:?} {now:?}"
        );
    }
}
