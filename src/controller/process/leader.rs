//! Choice of the one replica that works: it holds the Lease.
//!
//! Every write names the version of the Lease that it was decided on, so that of two replicas that see the same one wins. A
//! candidate measures by its own clock how long a Lease has not been renewed; clocks of nodes are never compared. A leader
//! that cannot renew stops `grace` before another may begin, also when the API server is not to be reached.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::controller::config::LeaderElection;

/// Longest time that the release of a Lease may take when the operator ends.
const RELEASE_DEADLINE: Duration = Duration::from_secs(3);
/// Tries to renew in the time that a leader has.
const TRIES: u32 = 5;

/// Until when this replica leads, for whoever begins what only the leader may begin.
#[derive(Clone, Debug)]
pub struct LeadTerm(watch::Receiver<Option<Instant>>);

impl LeadTerm {
    /// That of the only replica.
    #[must_use]
    pub fn always() -> Self {
        // An `Instant` has no largest value to take instead.
        let far = Instant::now() + Duration::from_hours(100 * 365 * 24);
        Self::new(watch::channel(Some(far)).1)
    }

    /// As the campaign says; when it is over, so is the lead.
    #[must_use]
    pub const fn new(until: watch::Receiver<Option<Instant>>) -> Self {
        Self(until)
    }

    /// Reports whether this replica leads now. A process that was stopped for a while learns here that its time is over, before
    /// [`Leadership::lost`] is cancelled.
    #[must_use]
    pub fn is_held(&self) -> bool {
        is_to_come(*self.0.borrow())
    }

    /// Waits where that is not certain; false where this replica leads no more.
    pub async fn confirm(&self) -> bool {
        let mut until = self.0.clone();
        until.wait_for(|until| is_to_come(*until)).await.is_ok()
    }
}

fn is_to_come(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() < until)
}

/// Leadership of this replica.
#[derive(Debug)]
pub struct Leadership {
    lead: LeadTerm,
    lost: CancellationToken,
    release: CancellationToken,
    campaign: Option<JoinHandle<()>>,
}

impl Leadership {
    /// The only replica.
    #[must_use]
    pub fn always() -> Self {
        Self {
            lead: LeadTerm::always(),
            lost: CancellationToken::new(),
            release: CancellationToken::new(),
            campaign: None,
        }
    }

    /// One of several replicas. `identity` must be that of no other process alive: the name of the Pod. A container that
    /// starts again in its Pod goes on with the Lease of the one before.
    #[must_use]
    pub fn campaign(client: Client, namespace: &str, identity: &str, election: &LeaderElection) -> Self {
        let leases = KubeLeases {
            api: Api::namespaced(client, namespace),
            name: election.lease_name.clone(),
        };
        Self::campaign_in(leases, identity, election)
    }

    fn campaign_in(leases: impl Leases, identity: &str, election: &LeaderElection) -> Self {
        let (sender, until) = watch::channel(None);
        let (lost, release) = (CancellationToken::new(), CancellationToken::new());
        let candidate = Candidate {
            leases,
            identity: identity.to_owned(),
            timing: Timing::of(election),
            seen: None,
            held: None,
        };
        let campaign = tokio::spawn(candidate.run(sender, lost.clone(), release.clone()));
        Self {
            lead: LeadTerm::new(until),
            lost,
            release,
            campaign: Some(campaign),
        }
    }

    /// Asked before each call of a model.
    #[must_use]
    pub fn lead(&self) -> LeadTerm {
        self.lead.clone()
    }

    /// Ends when this replica leads.
    pub async fn won(&mut self) {
        // The campaign is over and brings no Lease any more: only a shutdown ends this wait.
        if self.lead.0.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Cancelled when leadership is lost. It does not come back: no new step may start, and when those under way have ended
    /// the process must end.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Gives the Lease back, so that another replica need not wait. Only when nothing is under way any more.
    pub async fn release(self) {
        self.release.cancel();
        if let Some(campaign) = self.campaign
            && let Err(error) = campaign.await
        {
            tracing::error!(%error, "the election ended by itself");
        }
    }
}

/// Times that follow from the configuration.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// Time that a Lease holds after its last renewal.
    duration: Duration,
    /// Time that a leader leads without having renewed.
    renew_deadline: Duration,
    /// Between two reads or renewals.
    pause: Duration,
}

impl Timing {
    fn of(election: &LeaderElection) -> Self {
        let renew_deadline = election.duration().saturating_sub(election.grace());
        Self {
            duration: election.duration(),
            renew_deadline,
            // A candidate sees a renewal up to one pause late, and the grace must cover that.
            pause: (renew_deadline / TRIES).min(election.grace() / 2),
        }
    }
}

/// The one Lease, as the API server has it.
trait Leases: Send + Sync + 'static {
    fn get(&self) -> impl Future<Output = Result<Option<Lease>, LeaseError>> + Send;
    fn create(&self, spec: LeaseSpec) -> impl Future<Output = Result<Lease, LeaseError>> + Send;
    /// Fails with `Conflict` when the Lease has changed since.
    fn replace(&self, lease: &Lease) -> impl Future<Output = Result<Lease, LeaseError>> + Send;
}

#[derive(Debug, thiserror::Error)]
enum LeaseError {
    #[error("the lease has changed since it was read")]
    Conflict,
    #[error("the API server gave no answer in time")]
    Timeout,
    #[error("the API server refuses the lease: {0}")]
    Refused(#[source] Box<kube::Error>),
}

impl From<kube::Error> for LeaseError {
    fn from(error: kube::Error) -> Self {
        match &error {
            // Two candidates may create it at once: one of them is too late.
            kube::Error::Api(status) if status.is_conflict() || status.is_already_exists() => Self::Conflict,
            _ => Self::Refused(Box::new(error)),
        }
    }
}

struct KubeLeases {
    api: Api<Lease>,
    name: String,
}

impl Leases for KubeLeases {
    async fn get(&self) -> Result<Option<Lease>, LeaseError> {
        Ok(self.api.get_opt(&self.name).await?)
    }

    async fn create(&self, spec: LeaseSpec) -> Result<Lease, LeaseError> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
        };
        Ok(self.api.create(&PostParams::default(), &lease).await?)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        Ok(self
            .api
            .replace(&self.name, &PostParams::default(), lease)
            .await?)
    }
}

/// State of a Lease for this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It is this replica's, or nobody's: it can be written.
    Open,
    /// Another replica holds it for at least that long.
    Held(Duration),
}

/// Judges a Lease that was last seen to change `unchanged` ago. A candidate reads it every `pause`, so it saw the change that late at most;
/// the leader gave up longer before.
fn standing(spec: &LeaseSpec, identity: &str, unchanged: Duration, timing: Timing) -> Standing {
    let holder = spec.holder_identity.as_deref().unwrap_or_default();
    // A container that started again in its Pod has the identity of the one before.
    if holder.is_empty() || holder == identity {
        return Standing::Open;
    }
    let duration = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(timing.duration, Duration::from_secs);
    match duration.saturating_sub(timing.pause).checked_sub(unchanged) {
        None | Some(Duration::ZERO) => Standing::Open,
        Some(rest) => Standing::Held(rest),
    }
}

/// The Lease as `identity` takes or renews it.
fn taken(mut lease: Lease, identity: &str, timing: Timing) -> Lease {
    let now = MicroTime(Timestamp::now());
    let spec = lease.spec.get_or_insert_default();
    if spec.holder_identity.as_deref() != Some(identity) {
        spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        spec.acquire_time = Some(now.clone());
        spec.holder_identity = Some(identity.to_owned());
    }
    spec.lease_duration_seconds = i32::try_from(timing.duration.as_secs()).ok();
    spec.renew_time = Some(now);
    lease
}

struct Candidate<L> {
    leases: L,
    identity: String,
    timing: Timing,
    /// The Lease as it was last seen, and since when it is unchanged.
    seen: Option<(LeaseSpec, Instant)>,
    /// The Lease as this replica wrote it last.
    held: Option<Lease>,
}

/// The result of one try to acquire or renew the Lease.
enum LeaseAttempt {
    /// It is this replica's since that moment.
    Mine(Instant),
    /// It is another's, for at least that long.
    Theirs(Duration),
}

impl<L: Leases> Candidate<L> {
    async fn run(
        mut self,
        leads_until: watch::Sender<Option<Instant>>,
        lost: CancellationToken,
        release: CancellationToken,
    ) {
        let Some(won) = release.run_until_cancelled(self.wait()).await else {
            return;
        };
        tracing::info!(identity = self.identity, "leading");
        leads_until.send_replace(Some(won + self.timing.renew_deadline));
        let kept = release
            .run_until_cancelled(self.renew_until_lost(won, &leads_until))
            .await;
        // Before anything else: from here on no step may start because this replica believes that it leads.
        leads_until.send_replace(None);
        // A lost Lease is not given back: another replica has it, or it expires.
        if kept.is_some() {
            tracing::error!(identity = self.identity, "leadership is lost");
            lost.cancel();
            return;
        }
        self.give_back().await;
    }

    /// Ends when the Lease is this replica's.
    async fn wait(&mut self) -> Instant {
        loop {
            // A request that hangs must not keep a candidate from its next try.
            let pause = match timeout(
                self.timing.renew_deadline,
                self.try_acquire_or_renew(Instant::now),
            )
            .await
            {
                Ok(Ok(LeaseAttempt::Mine(since))) => return since,
                Ok(Ok(LeaseAttempt::Theirs(rest))) => rest.min(self.timing.pause),
                // Another candidate wrote the Lease just now: it is read again soon.
                Ok(Err(LeaseError::Conflict)) => self.timing.pause / 4,
                Ok(Err(error)) => self.unreachable(&error),
                Err(_) => self.unreachable(&LeaseError::Timeout),
            };
            sleep(pause).await;
        }
    }

    /// Ends when the Lease is lost.
    async fn renew_until_lost(&mut self, mut renewed: Instant, leads_until: &watch::Sender<Option<Instant>>) {
        let mut pause = self.timing.pause;
        loop {
            let deadline = renewed + self.timing.renew_deadline;
            let look = async {
                sleep(pause).await;
                self.try_acquire_or_renew(Instant::now).await
            };
            // The deadline also ends a request that hangs: other replicas do not wait for its answer.
            pause = match timeout_at(deadline, look).await {
                Ok(Ok(LeaseAttempt::Mine(since))) => {
                    renewed = since;
                    leads_until.send_replace(Some(since + self.timing.renew_deadline));
                    self.timing.pause
                }
                Ok(Ok(LeaseAttempt::Theirs(_))) | Err(_) => return,
                // Read again at once: the renew deadline does not stop.
                Ok(Err(LeaseError::Conflict)) => Duration::ZERO,
                Ok(Err(error)) => self.unreachable(&error),
            };
        }
    }

    fn unreachable(&self, error: &LeaseError) -> Duration {
        tracing::warn!(identity = self.identity, %error, "cannot take or renew the lease");
        self.timing.pause
    }

    /// Takes or renews the Lease where that is allowed.
    async fn try_acquire_or_renew(
        &mut self,
        clock: impl Fn() -> Instant,
    ) -> Result<LeaseAttempt, LeaseError> {
        // Before the request: the server counts from a later moment, so this replica never believes in its Lease for too long.
        let begun = clock();
        // The last write is the present version unless somebody interfered; then the next write conflicts.
        // Taken out: after an error the version in the cluster is uncertain, and the next try reads the Lease.
        let known = match self.held.take() {
            Some(held) => Some(held),
            None => self.leases.get().await?,
        };
        let Some(lease) = known else {
            let new = taken(Lease::default(), &self.identity, self.timing);
            self.held = Some(self.leases.create(new.spec.unwrap_or_default()).await?);
            return Ok(LeaseAttempt::Mine(begun));
        };
        let spec = lease.spec.clone().unwrap_or_default();
        // After the answer: the change may be as late as that.
        let now = clock();
        let since = match &self.seen {
            Some((seen, since)) if *seen == spec => *since,
            _ => now,
        };
        self.seen = Some((spec.clone(), since));
        match standing(&spec, &self.identity, now - since, self.timing) {
            Standing::Held(rest) => Ok(LeaseAttempt::Theirs(rest)),
            Standing::Open => {
                let lease = taken(lease, &self.identity, self.timing);
                self.held = Some(self.leases.replace(&lease).await?);
                Ok(LeaseAttempt::Mine(begun))
            }
        }
    }

    async fn give_back(&mut self) {
        let given = timeout(RELEASE_DEADLINE, async {
            // A write that was under way at shutdown may have changed the version.
            let lease = self.leases.get().await?;
            let Some(mut lease) = lease.filter(|lease| holder(lease) == Some(self.identity.as_str())) else {
                return Ok(());
            };
            let spec = lease.spec.get_or_insert_default();
            // What client-go writes at a release: no holder, and a second until it is void.
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.leases.replace(&lease).await.map(drop)
        });
        match given.await.unwrap_or(Err(LeaseError::Timeout)) {
            Ok(()) => tracing::info!(identity = self.identity, "the lease is given back"),
            Err(error) => {
                tracing::warn!(identity = self.identity, %error, "the lease is not given back, it will expire");
            }
        }
    }
}

fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref()
}

#[cfg(test)]
mod tests;
