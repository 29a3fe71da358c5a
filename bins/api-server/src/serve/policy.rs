//! Derives the options of the ledger and of payments from a configuration.

use std::time::Duration;

use credit::{Cost, Refill, Rules};
use ledger::Allowance;

use crate::config::{Config, CreditSection, SettlementSection};
use crate::payment::{CreditPolicy, PaymentPolicy};

/// The rules by which payments are decided.
pub(super) fn payment_policy(config: &Config) -> PaymentPolicy {
    let storage = &config.storage;
    PaymentPolicy {
        settle_budget_seconds: config.payment.settle_budget_seconds,
        settle_guard: settle_guard(&config.settlement),
        transaction_retention: Duration::from_secs(retention_seconds(config)),
        private_answer_seconds: storage.private_answer_seconds,
        deferred_seconds: config.payment.deferred_seconds(),
        credit: credit_policy(&config.credit),
    }
}

fn retention_seconds(config: &Config) -> u64 {
    u64::from(config.storage.payment_retention_days).saturating_mul(86_400)
}

fn credit_policy(section: &CreditSection) -> CreditPolicy {
    let cost = Cost::micro_usd;
    CreditPolicy {
        upstream_call: cost(section.upstream_call_micro_usd),
        model_call: cost(section.model_call_micro_usd),
        verification: cost(section.verification_micro_usd),
        transaction: cost(section.transaction_micro_usd),
        kept: cost(section.kept_micro_usd),
        newcomers: Rules {
            pool: Refill {
                capacity: cost(section.pool_micro_usd),
                per_second: cost(section.pool_refill_micro_usd_per_second),
            },
            address: Refill {
                capacity: cost(section.address_share_micro_usd),
                per_second: cost(section.address_refill_micro_usd_per_second),
            },
        },
        cap: cost(section.cap_micro_usd),
    }
}

/// Longer than the sum of a settlement's own time limits: the call, an identical second one, and
/// reading the chain.
fn settle_guard(section: &SettlementSection) -> Duration {
    Duration::from_millis(section.timeout_ms)
        .saturating_mul(3)
        .saturating_add(Duration::from_secs(30))
}

/// The ledger's options.
pub(crate) fn ledger_options(config: &Config) -> ledger::Options {
    let storage = &config.storage;
    ledger::Options {
        max_bytes: storage.max_bytes,
        retention_seconds: storage.answer_retention_seconds,
        private_retention_seconds: storage.private_answer_seconds,
        entry_retention_seconds: retention_seconds(config),
        again_seconds: config.payment.again_seconds,
        credit_cap_micro_usd: config.credit.cap_micro_usd,
        pool: Allowance {
            capacity: config.credit.pool_micro_usd,
            per_second: config.credit.pool_refill_micro_usd_per_second,
        },
        address_share: Allowance {
            capacity: config.credit.address_share_micro_usd,
            per_second: config.credit.address_refill_micro_usd_per_second,
        },
    }
}
