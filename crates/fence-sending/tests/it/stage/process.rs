//! A process that sends plans.

use std::sync::Arc;
use std::time::Duration;

use alloy_signer_local::PrivateKeySigner;
use custody::Turns;
use dev_chain::DEV_ACCOUNTS;
use fence_sending::{
    ChainClocks, ChainReader, GasRules, Pace, Parts, Route, RoutedAccounts, Sendings,
};
use fence_server::Delegations;
use gas_funding::GasFunding;
use test_support::{Fuse, MortalBook, MortalRecords};
use tx_sender::{Chain, Clock, HashSigner, Options, RpcNode, Sender, TransactionSigner};

use super::order::fence;
use super::route::{CoinUsd, Paid};
use super::{BUDGET, World};
use crate::mortal::MortalFence;
use crate::sample::{BASE, NOW, policy};
use crate::turns;

/// The parts of a process. They end with it.
pub(crate) struct Process {
    _sendings: Sendings,
    pub(crate) delegations: Arc<Delegations>,
    pub(crate) sender: Sender,
    pub(crate) turns: Turns,
    pub(crate) funding: GasFunding,
    pub(crate) fuse: Arc<Fuse>,
}

impl World {
    pub(crate) async fn process(&self, fuse: Arc<Fuse>) -> Process {
        let node = self.node(&fuse);
        let turns = match self.servers {
            true => turns::shared(self.records.clone(), Arc::clone(&fuse)),
            false => Turns::default(),
        };
        let start = self.start;
        let network = Chain {
            id: BASE,
            nodes: vec![Arc::new(RpcNode::new(Arc::clone(&node)))],
            policy: tx_sender::Policy {
                poll_interval: Duration::from_millis(200),
                watch_interval: Duration::from_secs(1),
                resend_after: Duration::from_secs(4),
                bump_after: Duration::from_secs(6),
                ..tx_sender::Policy::default()
            },
        };
        let records = MortalRecords {
            store: self.records.clone(),
            fuse: Arc::clone(&fuse),
        };
        let options = Options {
            clock: Clock::new(move || NOW + start.elapsed().as_secs()),
            takeover: self.takeover,
            ..Options::default()
        };
        let funder: Arc<dyn TransactionSigner> = Arc::new(HashSigner::new(
            PrivateKeySigner::from_bytes(&DEV_ACCOUNTS[2].key).unwrap(),
        ));
        let sender = Sender::new(Arc::new(records), vec![network], vec![funder], options);
        let route: Arc<dyn Route> = Arc::clone(&self.route) as _;
        let chain = ChainReader::new(BASE, vec![node], 1);
        let clock = self.clock();
        let funding = match self.funder.clone() {
            None => GasFunding::none(),
            Some(funder) => GasFunding::new(gas_funding::Parts {
                funder,
                sender: sender.clone(),
                book: Arc::new(MortalBook {
                    book: Arc::clone(&self.book),
                    fuse: Arc::clone(&fuse),
                }),
                prices: Arc::new(CoinUsd(self.coin_usd)),
                paid: Arc::new(Paid(self.paid)),
                clock: Arc::clone(&clock),
            }),
        };
        let delegations = Delegations::install(fence_server::Parts {
            fence: fence(),
            plans: policy(),
            budget: BUDGET,
            store: Arc::new(MortalFence {
                store: Arc::clone(&self.store),
                fuse: Arc::clone(&fuse),
            }),
            accounts: Arc::new(RoutedAccounts::new(vec![Arc::clone(&route)])),
            clocks: Arc::new(ChainClocks::new(chain.clone(), Arc::clone(&clock))),
            prices: self.prices.clone(),
            chain: None,
            delegated: None,
            strangers_revocations: 1000,
        });
        let delegations = Arc::new(delegations.await.unwrap());
        let sendings = Sendings::start(Parts {
            delegations: Arc::clone(&delegations),
            routes: Vec::from_iter(self.routed.then_some(route)),
            chain,
            sender: sender.clone(),
            turns: turns.clone(),
            gas: GasRules::default(),
            funding: funding.clone(),
            pace: Pace {
                look: Duration::from_millis(200),
                unpriced: Duration::from_millis(200),
                sweep: Duration::from_millis(500),
                rest: Duration::from_secs(3),
                coins: Duration::from_secs(20),
                lease_seconds: 10,
                watched: Duration::from_secs(100),
            },
            clock,
        });
        Process {
            _sendings: sendings,
            delegations,
            sender,
            turns,
            funding,
            fuse,
        }
    }
}
