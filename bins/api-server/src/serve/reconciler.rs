//! The part of a server that decides payments, for a process that serves no calls.

use std::sync::Arc;

use alloy_primitives::B256;
use data_sources::SystemClock;
use ledger::{AnyLedger, PaidAnswer};
use route_catalog::ErrorCode;
use serde_json::{Map, Value};
use settlement::AnySettler;

use super::open::{catalog, open_settler};
use super::policy::payment_policy;
use super::settler::check_key;
use super::stores::Stores;
use crate::call::Call;
use crate::config::Config;
use crate::error::ServeError;
use crate::payment::{PaymentProcessor, Worker};
use crate::reply::ErrorReply;

/// A payment processor that decides open payments and serves no calls.
pub(crate) type Reconciler = PaymentProcessor<AnySettler, AnyLedger, NoWork>;

/// Opens the settler of a configuration over an open ledger.
///
/// # Errors
/// A [`ServeError`] that names the key. An unreachable facilitator, broker or RPC is not an error.
pub(crate) async fn reconciler(
    config: &Config,
    stores: &Stores,
    journal: AnyLedger,
) -> Result<Reconciler, ServeError> {
    check_key(&config.settlement)?;
    let terms = config.payment.terms().ok_or(ServeError::NoPayee)?;
    let catalog = catalog(config, &terms)?;
    let settler = open_settler(config, stores, None, &terms).await?;
    Ok(PaymentProcessor::new(
        Arc::new(catalog),
        settler,
        journal,
        NoWork,
        payment_policy(config),
        Arc::new(SystemClock),
    ))
}

/// A worker for a process that serves no calls.
pub(crate) struct NoWork;

impl Worker for NoWork {
    async fn answer(&self, _call: &Call, _request: B256) -> Result<PaidAnswer, ErrorReply> {
        let message = "this process takes no calls";
        Err(ErrorReply::new(ErrorCode::Internal, message))
    }

    async fn has_begun(&self, _payment: B256) -> bool {
        true
    }

    async fn began(&self, _payment: B256) -> Option<Map<String, Value>> {
        None
    }
}
