"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.library.cores import (
    BarProfile as BarProfile,
    CoreProfile as CoreProfile,
    load_bar as load_bar,
    load_core as load_core,
    shipped_bars as shipped_bars,
    shipped_cores as shipped_cores,
)
from pcielab.library.engines import (
    EngineProfile as EngineProfile,
    load_engine as load_engine,
    shipped_engines as shipped_engines,
)
from pcielab.library.expanders import (
    ExpanderProfile as ExpanderProfile,
    load_expander as load_expander,
    shipped_expanders as shipped_expanders,
)
from pcielab.library.link import Link as Link
from pcielab.library.message_profiles import (
    MessageProfile as MessageProfile,
    load_message_profile as load_message_profile,
    shipped_message_profiles as shipped_message_profiles,
)
from pcielab.library.nics import (
    NicProfile as NicProfile,
    Step as Step,
    load_nic as load_nic,
    shipped_nics as shipped_nics,
)
from pcielab.model.answers import (
    AccessBound as AccessBound,
    AccessOutcome as AccessOutcome,
    AccessTimes as AccessTimes,
    Answer as Answer,
    Bandwidth as Bandwidth,
    Between as Between,
    Ceiling as Ceiling,
    Crossing as Crossing,
    Crossings as Crossings,
    DeviceRates as DeviceRates,
    EngineRate as EngineRate,
    EngineRates as EngineRates,
    ExpanderLoad as ExpanderLoad,
    ExpanderRates as ExpanderRates,
    HostRates as HostRates,
    InterleavedRates as InterleavedRates,
    LinkSizing as LinkSizing,
    LinkUse as LinkUse,
    Loopback as Loopback,
    Messages as Messages,
    NicThroughput as NicThroughput,
    PathSizing as PathSizing,
    PoolFill as PoolFill,
    Sending as Sending,
    Sizing as Sizing,
)
from pcielab.model.host_questions import LoadedHost as LoadedHost, host as host
from pcielab.model.link import Accounting as Accounting, Ethernet as Ethernet, Gap as Gap, Limits as Limits
from pcielab.model.message_questions import crossings as crossings, loopback as loopback, messages as messages
from pcielab.model.mmio_questions import (
    Access as Access,
    mmio as mmio,
    simulated_mmio as simulated_mmio,
)
from pcielab.model.questions import (
    bandwidth as bandwidth,
    engine as engine,
    expander as expander,
    interleaved as interleaved,
    link_sizing as link_sizing,
    local_memory as local_memory,
    nic as nic,
    sizing as sizing,
)
