//! A store of intents in memory, for tests in simulated time. That time does not wait for the
//! thread of a file's store. `stores.rs` runs the same tests on both stores.

use std::collections::BTreeMap;
use std::sync::Mutex;

use alloy_primitives::{Address, B256};
use wallet_actions::{
    CHARGED_WITHIN_SECONDS, Condition, Forbidden, Intent, IntentId, Place, State, Store,
    StoreError, StoreFuture,
};

#[derive(Default)]
pub(crate) struct Memory(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    intents: BTreeMap<IntentId, Intent>,
    forbidden: BTreeMap<B256, (String, u64)>,
}

impl Inner {
    fn running(&self, wallet: Address) -> Option<IntentId> {
        let mut intents = self.intents.values();
        let running = intents.find(|it| it.wallet == wallet && it.state == State::Running);
        running.map(|it| it.id.clone())
    }

    fn uncharged(&self, owner: &str, purchase: B256, created_at: u64) -> Option<IntentId> {
        let mut intents = self.intents.values();
        let uncharged = intents.find(|it| {
            (it.owner.as_str(), it.purchase) == (owner, Some(purchase))
                && it.created_at >= created_at
                && it.awaits_charge
                && !it.came_to_nothing()
        });
        uncharged.map(|it| it.id.clone())
    }
}

impl Memory {
    pub(crate) fn all(&self) -> Vec<Intent> {
        self.0.lock().unwrap().intents.values().cloned().collect()
    }
}

fn done<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for Memory {
    fn insert(&self, intent: Intent, _claim: Option<Condition>) -> StoreFuture<'_, Intent> {
        let mut inner = self.0.lock().unwrap();
        let reason = inner.forbidden.get(&intent.payment).cloned();
        let reason = reason.map(|(reason, _)| reason);
        let known = inner
            .intents
            .values_mut()
            .find(|it| it.payment == intent.payment);
        if let Some(known) = known {
            if known.may_have_effect() {
                return done(Ok(known.clone()));
            }
            if let Some(reason) = reason {
                return done(Err(StoreError::Forbidden { reason }));
            }
            known.payment = alloy_primitives::keccak256(known.id.as_str());
        } else if let Some(reason) = reason {
            return done(Err(StoreError::Forbidden { reason }));
        }
        if let Some(running) = inner.running(intent.wallet) {
            return done(Err(StoreError::Busy { running }));
        }
        if let Some(purchase) = intent.purchase {
            let since = intent.created_at.saturating_sub(CHARGED_WITHIN_SECONDS);
            if let Some(intent) = inner.uncharged(&intent.owner, purchase, since) {
                return done(Err(StoreError::Uncharged { intent }));
            }
        }
        let kept = Intent {
            revision: 1,
            ..intent
        };
        inner.intents.insert(kept.id.clone(), kept.clone());
        done(Ok(kept))
    }

    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>> {
        done(Ok(self.0.lock().unwrap().intents.get(id).cloned()))
    }

    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>> {
        let inner = self.0.lock().unwrap();
        done(Ok(inner
            .intents
            .values()
            .find(|it| it.payment == payment)
            .cloned()))
    }

    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden> {
        let mut inner = self.0.lock().unwrap();
        let reason = inner
            .forbidden
            .entry(payment)
            .or_insert_with(|| (reason.to_owned(), at))
            .0
            .clone();
        let mut intents = inner.intents.values();
        let intent = intents.find(|it| it.payment == payment).cloned();
        done(Ok(Forbidden { reason, intent }))
    }

    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>> {
        let forbidden = &self.0.lock().unwrap().forbidden;
        done(Ok(forbidden
            .get(&payment)
            .map(|(reason, _)| reason.clone())))
    }

    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        let mut inner = self.0.lock().unwrap();
        let known = inner.intents.get_mut(&intent.id).unwrap();
        if known.revision != intent.revision {
            return done(Err(StoreError::Conflict { id: intent.id }));
        }
        *known = Intent {
            revision: intent.revision + 1,
            ..intent
        };
        done(Ok(known.clone()))
    }

    fn open(&self) -> StoreFuture<'_, Vec<IntentId>> {
        let all = self.all().into_iter();
        done(Ok(all
            .filter(|it| !it.state.is_over())
            .map(|it| it.id)
            .collect()))
    }

    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>> {
        let all = self.all().into_iter();
        done(Ok(all
            .filter(|it| it.state.is_over() && !it.is_final)
            .map(|it| it.id)
            .collect()))
    }

    fn awaiting_charge(&self, after: Place, most: u32) -> StoreFuture<'_, Vec<Place>> {
        let mut all = self.all();
        all.retain(|it| it.awaits_charge && !it.came_to_nothing());
        let places = all.into_iter().map(|it| (it.created_at, Some(it.id)));
        let mut places: Vec<Place> = places.filter(|place| *place > after).collect();
        places.sort();
        places.truncate(most as usize);
        done(Ok(places))
    }

    fn forget(&self, before: u64, most: u32) -> StoreFuture<'_, ()> {
        let mut inner = self.0.lock().unwrap();
        let all = inner.intents.values();
        let old = all.filter(|it| it.is_empty() && it.created_at < before);
        let old: Vec<_> = old.map(|it| it.id.clone()).take(most as usize).collect();
        inner.intents.retain(|id, _| !old.contains(id));
        inner.forbidden.retain(|_, (_, at)| *at >= before);
        done(Ok(()))
    }

    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>> {
        let mut all = self.all();
        all.retain(|it| it.owner == owner && it.created_at >= created_at);
        all.sort_by(|one, other| (other.created_at, &one.id).cmp(&(one.created_at, &other.id)));
        all.truncate(most as usize);
        done(Ok(all))
    }

    fn uncharged(
        &self,
        owner: &str,
        purchase: B256,
        created_at: u64,
    ) -> StoreFuture<'_, Option<IntentId>> {
        let inner = self.0.lock().unwrap();
        done(Ok(inner.uncharged(owner, purchase, created_at)))
    }

    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>> {
        done(Ok(self.0.lock().unwrap().running(wallet)))
    }
}
