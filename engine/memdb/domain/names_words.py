"""Words that are no names: common English words and their inflections, the calendar, everyday acronyms."""

from __future__ import annotations

from functools import lru_cache

# Words without a subject of their own; a run of capitals never begins or ends with one of them.
_FUNCTION = """
a an the this that these those some any all each every more most much many other another own same no not nor none i me
my mine we us our ours you your yours he him his she her hers it its they them their theirs one ones both either
neither few several such who whom whose what which when where why how whether whatever whenever wherever whoever am is
are was were be been being do does did doing done have has had having can could shall should will would may might must
ought cannot and or but if then than so because while although though unless until since of in on at by for with
without from to into onto upon about above across after against along among around as before behind below beneath
beside besides between beyond despite down during except inside like near off out outside over past per through
throughout toward towards under underneath up via within here there just also too very only even ever never again
always already almost often sometimes rarely seldom usually still yet soon now today tomorrow yesterday tonight
perhaps maybe however therefore moreover furthermore otherwise instead meanwhile nevertheless nonetheless thus hence
accordingly additionally consequently likewise similarly indeed anyway well ok okay yes yeah yep no nope nah hi hey
hello bye goodbye woah whoa oof oops aw aww yup woohoo congrats huh heh ha ooh phew yikes ouch gosh hurray cheers
thanks thank please sorry wow oh ah haha hmm ugh aww yay cool great awesome amazing nice good bad sure let lets don
doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain ll ve re etc eg ie vs aka someone
somebody something somewhere everyone everybody everything everywhere anyone anybody anything anywhere nobody nothing
nowhere myself yourself himself herself itself ourselves themselves oneself whichever whereas wherein whereby mr mrs
ms dr prof sir madam dear
"""

# Base forms; `is_common` undoes -s, -es, -ed, -ing, -er, -est, -ly and -ness.
_VERBS = """
abandon abort absorb accept access accompany accomplish achieve acknowledge acquire act activate adapt add address
adjust administer admit adopt advance advise affect afford agree aim allocate allow alter amend analyse analyze
announce answer anticipate appear append apply appoint appreciate approach approve archive argue arise arrange arrest
arrive ask assemble assert assess assign assist associate assume attach attack attempt attend attract author avoid
award back backfill ban base beat become beg begin behave believe belong benchmark bet bind block boost boot born
borrow bother break brew bring broadcast browse build bump burn buy cache calculate call cancel capture care carry
cast catch cause celebrate change charge chase chat check choose circulate cite claim clarify clean clear click climb
clone close collaborate collapse collect combine come comment commit communicate compare compete compile complain
complete compose compress compute conclude conduct confess configure confirm confuse connect consider consist
construct consult consume contact contain continue contribute control convert convince cook coordinate cope copy
correct cost count counter cover crash create criticize cross cry cut cycle damage dance date deal debate debug decide
declare decline decode decrease dedicate deduce defeat defend define delay delete deliver demand demonstrate deny
depend deploy deprecate derive describe deserve design destroy detect determine develop die differ dig direct disable
disagree disappear discard disclose disconnect discover discuss display distinguish distribute dive divide document
dominate double download draft drag draw dream dress drink drive drop dry dump duplicate earn ease eat edit educate
elect eliminate embed emerge emit employ enable encode encounter encourage end enforce engage enhance enjoy ensure
enter escape establish estimate evaluate evolve examine exceed exchange excite exclude execute exercise exhibit exist
expand expect expense experience experiment explain exploit explore export expose express extend extract face fail
fall fear feature feed feel fetch fight figure file fill filter finalize find finish fire fit fix flag flatten flip
float flow fly focus fold follow force forecast forget fork form format forward found free freeze fuel fulfil function
fund gain gather generate get give glance go govern grab graduate grant greet grow guarantee guard guess guide handle
hang happen harm hate head heal hear heat help hide hike hit hold honor hope host hug hunt hurt identify ignore
illustrate imagine implement imply import impose impress improve include incorporate increase index indicate infer
influence inform inherit initialize inject injure inline insert insist inspect inspire install integrate intend
interact interest interpret introduce invent invest investigate invite invoke involve isolate issue iterate join joke
judge jump justify keep kick kill kiss knit knock know label lack land last laugh launch lay lead leak lean learn
leave lend level lie lift light limit link list listen live load lock log look loop lose love lower mail maintain make
manage manifest map mark marry match matter mean measure meet mention merge migrate mind minimize miss mix mock model
modify monitor motivate mount move multiply name narrow need neglect negotiate nest normalize note notice notify
number obey object observe obtain occur offer omit open operate optimize order organise organize oversee override own
pack page paint pair park parse part participate pass paste patch pause pay perform permit persist phone pick pin ping
pipe place plan plant play plot point poll pop populate port pose position possess post postpone pour practice
practise praise pray prefer prepare present preserve press pretend prevent print process produce profile program
progress prohibit project promise promote prompt propose protect prototype prove provide prune publish pull punish
purchase pursue push put qualify query question queue quit quote race raise ramp rank rate reach react read realise
realize rebase rebuild recall receive reckon recognise recognize recommend reconcile reconstruct record recover
recruit recycle redesign redirect reduce refactor refer reflect refresh refuse regard register regret reject relate
relax release rely remain remember remind remove rename render renew rent reopen repair repeat replace replicate reply
report represent reproduce request require rescue reserve reset resign resist resolve respond rest restart restore
restrict restructure result resume retain retire retry return reuse reveal reverse revert review revise revoke reward
rewrite ride rise risk roll rotate route ruin rule run rush sail sample save say scale scan schedule score scrape
scream search secure see seek seem select sell send separate serialize serve set settle shape share shift shine ship
shoot shop shout show shrink shut sign signal simplify simulate sing sink sit skip sleep slide slip slow smell smile
smoke smooth snap solve sort sound spawn speak specify spell spend spill split spot spread squash stack stage stand
start state stay steal stem step stick stop store stream strengthen stress stretch strike strip structure struggle
study submit subscribe substitute succeed suffer suggest suit sum summarise summarize supply support suppose surprise
surround survey survive suspect suspend swap swear sweep swim switch sync synthesize tackle tag take talk target taste
teach tell tend test thank think thread threaten throw tie time toggle touch trace track trade train transfer
transform transition translate transmit transport travel treat trigger trim troubleshoot truncate trust try tune turn
tweak type understand undo unify unite unlock unpack unset update upgrade upload urge use validate value vanish vary
verify view violate visit visualize vote wait wake walk wander want warn wash waste watch wear weigh welcome whisper
win wipe wish wonder work worry wrap write yell yield
"""

_PAST = """
began begun became beaten bent bit bitten blew blown bought bound bred broke broken brought built burnt came caught
chose chosen clung crept dealt dove drank drawn dreamt drew driven drove drunk dug eaten ate fallen fed fell felt flew
flown forbade forgave forgiven forgot forgotten fought frozen froze gave given gone got gotten grew grown heard held
hid hidden hung kept knew known laid lain led left lent lit lost made meant met mistaken paid ran rang rose risen said
sang sank sat saw seen sent sewn shaken shook shone shot shown slept slid sold sought spent spoke spoken sprang spun
stole stolen stood stuck struck stung sung swam swept swore swung taken taught thought threw thrown told took tore
torn understood undertook undone upheld went withdrew withdrawn woke woken wore worn wound wrote written
"""

_NOUNS = """
ability absence account accuracy acid action activity actor actress addition adult advantage adventure advice
afternoon age agency agenda agent agreement air airport alarm album alcohol alert algorithm alias alternative amount
analysis anchor angle animal anniversary apartment app apple application appointment architect architecture area arm
army array arrow art article artifact artist aspect asset assistant association athlete attention attribute audience
audit aunt autumn average baby background backup bag balance ball band bank bar barrier basis basket bass batch bath
battery battle beach bean bear beauty bed bedroom bee beer behavior behaviour bell benefit bike bill bird birth
birthday bit board boat body bond bone bonus book border boss bot bottle bottom boundary bowl box boy boyfriend brain
branch brand bread breakfast breath brick bridge brother browser bubble bucket budget buffer bug bus business button
buyer byte cable cake calendar camera camp campaign cancer candidate candle capacity capital captain car card career
cart case cash cat category cell center centre century ceremony certificate chain chair challenge champion chance
channel chapter character charity chart cheese chef child children choice chunk church circle circumstance citizen
city class client climate clinic clock cloth clothes cloud club cluster coach coast coat code coffee coin collection
college color colour column command commission committee community companion company comparison competition complexity
component computer concept concern concert condition conference config configuration conflict connection consequence
constant constraint consumer container content contest context contract controller conversation cookie core corner
corporation council country county couple courage course court cousin cow cream creature credit crew crime crisis
criteria criterion crowd crystal culture cup currency curve custom customer daemon dashboard data database dataset
daughter dawn day deadline death debt decade decision deck default defect degree delivery department dependency
deployment depth desert desk desktop detail device diagram dialog diet difference difficulty dimension dinner director
directory disaster disease dish disk distance district doctor dog dollar domain door doubt draft drama driver drug
duck dust duty ear earth economy edge edition editor education effect effort egg election element email emotion
employee employer energy engine engineer engineering entity entry environment episode equation equipment error estate
evening event evidence example exception executive exit expert expression eye fabric fact factor factory faculty
failure faith family fan farm farmer fashion fat father fault favorite favourite fee feedback fellow female festival
fiction field film finance finding finger firm fish flavor flavour flight floor flower folder food foot football
forest formula forum foundation frame framework freedom friend friendship front fruit fun furniture future galaxy
gallery game gap garage garden gas gate gateway gender gene genre gift girl girlfriend glass goal god gold golf
government grade grain grammar grandfather grandmother graph grass ground group growth guest guideline guitar gun guy
habit hair half hall hand handler hardware hat health heart height hello hero highway hill history hobby hole holiday
home homework hook horizon horse hospital hotel hour house household human husband ice icon id idea identity image
impact importance incident income individual industry information infrastructure ingredient initiative injury
innovation input insight instance institute institution instruction instrument insurance integer interface internet
intersection interval interview introduction investment investor iron island item jacket job journal journey judge
juice justice key keyboard keyword kid kind king kingdom kitchen knee knife knowledge lab laboratory ladder lady lake
lamp landscape lane language laptop law lawyer layer layout leader leadership leaf league lease lecture leg legend
lesson letter liberty library license life line lip liquid literature location logic loss luck lunch machine magazine
magic maintainer majority male man manager manner manual manuscript march market marriage mass master material matrix
mayor meal meaning meat media medicine medium meeting member membership memory men menu message metadata metal method
metric middle military milk million mine minister ministry minute mirror mission mistake mode module moment money
month mood moon morning mother motion motor mountain mouse mouth movement movie museum music musician mystery nation
nature neck neighbor neighborhood nephew nerve network news newspaper night node noise nose notebook notification
novel nurse oak objective occasion ocean office officer official oil onion opening opera operation operator opinion
opportunity option orange orchestra origin outage outcome output owner package pain painting palace panel paper
paragraph parameter parent parliament partner partnership party password past path patience patient pattern payload
payment peace peer pen pencil people pepper percent percentage period permission person personality perspective pet
phase phenomenon philosophy phone photo photograph phrase physics piano picture pie piece pilot pipeline pitch pizza
planet plate platform player playlist plenty plugin pocket poem poet poetry policy police pollution pool population
possibility postmortem pot potato power prayer preference presence president pressure price pride priest prince
princess principle priority prison prisoner prize problem procedure producer product profession professor profit proof
property proposal protein protocol provider province proxy psychology pub public pupil puppy puzzle quality quantity
quarter queen quest quiz radio rain rain range ratio reader reality reason recipe recording recovery red reference
refund region registry regression relation relationship relative religion reminder replica repo repository reputation
research resident resource responsibility restaurant revenue revolution rice ring river road robot rock role roof room
root rope row runbook runtime sadness safety sake salad salary salt sand sandwich scenario scene scheduler scheme
scholar school science scientist scope screen script sea season seat second secret secretary section sector segment
selection self senate sense sensor sentence sentiment sequence series server service session severity sex shadow
shareholder sheet shell shelter shirt shoe shore shoulder side silence silver singer sister site situation size skill
skin sky sleep snow soap society software soil soldier solution son song soul soup source south space speaker species
spectrum speech speed spirit spoon sport spring square stability stadium staff stage stairs stakeholder standard star
statement station statistics status stock stomach stone storage storm story stranger strategy street strength string
student studio stuff style subject success sugar suggestion summer summit sun sunset supplier surface surgery sweater
symbol sympathy symptom system table tail talent tank task tax taxi tea teacher team tear technique technology
teenager telephone television temperature temple tenant tennis term territory text theater theatre theme theory
therapy thing thought throat ticket tide tip tire title token tone tongue tool tooth topic total tour tourist tower
town toy tradition traffic trail transaction tree trend trial tribe trick trip trouble truck truth twin ui uncle union
unit universe university upstream user usage vacation valley van variable variant variation variety vegetable vehicle
vendor venue version victim video village violence virus vision vocabulary voice volume volunteer wall war warehouse
warning water wave way wealth weapon weather web website wedding week weekend weight wheel widget wife wildlife wind
window wine wing winner winter wire wisdom witness wolf woman women wood word worker workflow workshop world writer
year youth zone todo fixme readme changelog faq accountant admin compromise non thx apology lot analyst api backend
bulk caption checklist circuit codebase comma compiler cron curl customer deploy dev docs endpoint exporter flask
frontend glossary handoff heading iso kernel latency locale lint logs meetup merger metadata middleware mutex null
offset onboarding ops overview parser payload placeholder plaintext postdoc prefix prod qa quota redis regex rollout
rollback roadmap schema setup shard snippet spec staging stdin stderr stdout subnet suffix summary swagger syntax
template terminal throughput timeline timeout timestamp toolchain tooltip tuple url username utility uuid vault vector
webhook wiki workspace workaround yaml
"""

_QUALITIES = """
able absent absolute abstract academic acceptable accidental accurate active actual acute additional adequate adjacent
administrative advanced afraid aggressive alive alone alternate ambitious ancient angry annual anonymous anxious
apparent appropriate arbitrary artificial asleep assistant atomic attractive automated automatic available aware awful
basic beautiful beloved best better big bigger biggest binary bitter black blank blind blue bold boolean boring brave
brief bright brilliant broad brown busy calm canonical capable careful casual central certain cheap chemical chief
chronic civil classic classical clever clinical cloudy cognitive cold collective comfortable commercial common
comparative compatible complex comprehensive concrete concurrent conscious consecutive conservative considerable
consistent contemporary continuous contrary convenient conventional corporate crazy creative critical crucial cruel
cultural curious current cute daily dangerous dark dead deaf dear decent deep deeper defensive delicate delicious
democratic dense dependent desperate diagnostic different difficult digital dirty distant distinct diverse domestic
dramatic due dumb dynamic eager early eastern economic effective efficient elderly electric electrical electronic
elegant eligible emotional empirical empty endless enormous entire environmental equal equivalent essential eternal
ethnic eventual evident evil exact excellent exceptional exclusive explicit external extra extraordinary extreme fair
faithful false familiar famous fancy fast faster fatal federal feasible final financial fine first flat flexible
foreign formal former fortunate fourth fragile frequent fresh friendly full fundamental funny further general generic
generous gentle genuine giant glad global golden gradual grand gray green grey gross guilty half handy happy hard
harsh healthy heavy helpful hidden high higher highest historic historical holy honest horizontal horrible hot huge
human humble hungry ideal identical idle illegal immediate immense immutable imperial implicit important impossible
impressive inactive inadequate incoming incomplete incredible independent indirect industrial inevitable initial inner
innocent innovative insane instant intellectual intelligent intense interactive intermediate internal international
intimate invalid invisible jealous joint junior key large larger largest late later latest latter lazy leading least
legal legitimate less lesser level liberal lifelong linear literary little local logical lonely long longer loose loud
lovely low lowest loyal lucky mad magnetic main major mandatory manual marginal massive mature maximum meaningful
medical mental mere military minimal minimum minor missing mobile moderate modern modest monthly moral multiple mutual
mysterious naive narrow nasty national native natural naval neat necessary negative nervous neutral new newer newest
next nice noble noisy normal northern notable novel nuclear numerous obvious occasional odd offline old older oldest
online open opposite optimal optional oral ordinary organic original orthogonal outer outstanding overall overnight
painful pale parallel partial particular passive patient peaceful perfect permanent personal physical pink plain
pleasant plus polite political poor popular portable positive possible potential powerful practical precise pregnant
preliminary premature present previous primary prime principal prior private probable productive professional profound
prominent proper proud pure purple quick quicker quiet radical random rapid rare raw ready real realistic reasonable
recent recursive redundant regional regular related relevant reliable religious reluctant remarkable remote
representative respective responsible rich rigid right romantic rough royal rude rural sad safe scared scary
scientific secondary select selfish senior sensitive serious severe sexual shallow sharp short sick significant silent
silly similar simple single slight small smaller smart social soft solar sole solid sophisticated sorry southern spare
special specific spectacular spiritual stable standard static steady steep straight strange strategic strict strong
stupid subsequent substantial subtle successful sudden sufficient suitable super superior supreme sure suspicious
sweet symbolic synthetic systematic tall technical temporary tender terrible thick thin third thirsty thorough tight
tiny tired top total tough toxic traditional transparent tremendous tropical true twin typical ugly ultimate unable
unaware uncertain unclear unexpected unhappy unique universal unknown unlikely unusual upcoming upper upset urban
urgent useful useless usual vague valid valuable variable vast verbal vertical viable vibrant virtual visible visual
vital vivid vulnerable warm weak weekly weird western wet white whole wide widespread wild willing wise wonderful
wooden working worldwide worse worst worth wrong yellow young younger abroad ago ahead altogether apart aside away
backward barely elsewhere enough far forever forth hardly nearly nonetheless once overall quite rather regardless
scarcely somehow together twice whereupon two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
million billion second fifth sixth seventh eighth ninth tenth zero dozen
"""

_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
christmas easter thanksgiving halloween spring summer autumn fall winter am pm utc gmt est pst cet bc ad bce ce
"""

_PEOPLES = """
african albanian american arab arabic argentine argentinian armenian asian australian austrian bavarian belgian
bengali brazilian british bulgarian canadian catalan chilean chinese christian colombian croatian cuban czech danish
dutch egyptian english estonian european filipino finnish flemish french georgian german greek hebrew hindi hungarian
icelandic indian indonesian iranian iraqi irish israeli italian japanese jewish kenyan korean latin latvian lebanese
lithuanian malay malaysian mandarin mexican mongolian moroccan muslim nigerian norwegian pakistani persian peruvian
polish portuguese romanian russian scottish serbian slavic slovak slovenian soviet spanish swedish swiss syrian
taiwanese thai tibetan turkish ukrainian uzbek venezuelan vietnamese welsh
"""

# First names that are common words as well: before another capital they begin a name, not a sentence.
_GIVEN = """
art bill bob chase chuck dawn dean drew faith frank gene grace grant guy hope jack jay josh joy mark max miles nick
pat ray rob rose sue victor will
"""

_MORE = """
east west north northeast northwest southeast southwest easy security performance round treatment foot performance
administration defense congress politics murder authority chairman labor length possibly net aid dude mom dad mum
gonna wanna gotta kinda anti pre pro post semi multi mini mid micro macro blog accident plane governor steel vice
enemy intelligence attorney expensive loan affair appeal era squad abuse facility troop aircraft requirement suicide
jail assembly assault desire solo bomb threat assistance blow danger folk mile attitude heaven independence senator
programme transportation yard constitution crown depression employment excuse legislation maintenance mate relief
resistance shame advertising bible championship empire peak pound retirement automatic campus cap childhood comedy
defence democracy loan musical plastic gang chocolate coal criticism inch jury monster settlement pant rape
immigration bullet extent healthcare attitude anxiety castle flash fort penalty protest tape wage avenue commitment
electricity belt comic diamond establishment ghost horror gear hip muscle colonel comfort crack evolution inspiration
memorial minority rail saint trash volume alliance bid bro buddy bury conclusion congratulation crap downtown elite
hire ownership entrance idiot lifetime makeup medal mortgage pan reduction amendment cricket bench narrative
efficiency enterprise journalist mill pace pope regulation spin whilst agriculture alleged commerce cop creek fraud
funeral honey honour immigrant legacy routine sin survival achievement consent daddy destruction divorce fate
frequency glory headquarters heritage organisation privacy tube ambassador consumption corruption cotton discount epic
grateful leather luxury lyric manufacturer removal rep terrorist agricultural bull commonwealth fame flood genetic
punishment rally representation swing veteran arena argument boom compensation composition conservation density
elementary fleet genius guidance infection mechanical premium satellite shake transmission trap uniform ad blast
communist complaint cure diversity humanity murder registration romance tissue versus amongst announcement arsenal
biological bite chip dare discrimination disorder documentary footage implementation jazz midnight presentation rocket
slave toilet treaty triple bat bow cape craft devil equity fortune involvement petition racial regime sauce seal
shield tiger alien awkward beast beef candy celebrity clay colleague dialogue fool franchise jet lifestyle mall
sacrifice tale ton worship worthy butt characteristic con consideration dual globe gulf highlight intent judgment
knight logo pump revenge specialist tap tourism auction chaos copper corps dispute margin mechanism passage pit
psychological radiation stroke vessel acquisition barry classified clip conspiracy controversy equality exam
examination federation fiscal guardian intervention offense panic refugee terror venture yea alpha beta gamma
arrangement belief forgive inquiry inspector lion mercy oxygen powder ratings racism screw signature spider tribute
conversion copyright deposit destination dirt divine municipal popularity sacred spy suspension treasury tunnel
warrant burden certified civilian coalition controversial discipline dominant essay invasion legendary opponent
outdoor palm pole reception regulatory rubber sponsor substance syndrome ultra amateur canal cruise custody departure
eagle explosion fever fluid handsome imagination integrity interpretation lightning outfit pension portrait socialist
tension twist unemployment unity caution explanation login logout auth doc docs ex demo authentication authorization
workbook spreadsheet synchronise markup administrator hyperlink checkbox dropdown sidebar navbar popup textbox listbox
scrollbar iterator compiler decompiler linker loader constructor destructor subclass superclass inheritance
polymorphism recursion callback closure enum struct boolean tutorial workaround screenshot breakpoint namespace
pointer newbie beginner noob guru kudos cheers regards greetings sincerely plz pls nb ps edit spoiler disclaimer tldr
hint recap agenda attendee minutes facial statistical stochastic bilingual neural robotic robotics emergency
mathematical computational linguistic semantic pottery setback cozy mentor mitigation diagnosis prerequisite escalate
defer supersede caveat standalone else uppercase lowercase attachment forbid forbidden carry unconditional separate
mandatory gotcha fallback typo compile bypass proceed locate cordon unauthorized discovery outdated oriental skeleton
ethics increasing hopeful unfortunate apparent presumable incidental ironic sarcastic
"""

_GENERIC = """
ai am api apis ascii ap ar aoc asap ath bc bcc btw ca cc cd ceo cfo ci cio cli cmo coo cpa cpu cto cv db dba dev dm
dns dob doi dvd e2e eod eof eol eta eu faq fifo ftp fwiw fyi gb gdp ghz gpa gps gpu gui hq hr http https hw hz iban id
ide ids idk ie imho imo io iot ip ipo irc iq isbn isp it kb kg kpi lan lgbtq ltd llc llm llms lol mb mc mhz ml mo mp
ms na nda ngo nlp no nvm ocr ok omg ooo orm os ota pc pdf pdfs phd pin pm po poc pos pov pr prs ps psa pto q&a qa qr
ram rd rest rfc rfp roi rom rsvp sdk seo sla slo sms sop sql sre ssd ssh ssl tba tbc tbd tcp tech tl tls tmi todo tv
ui uk uom uri url urls usa usb utf uuid ux vat vc vip vm vms vp vpn vs wan wifi wip wtf www
"""

FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""English words without a subject of their own, and greetings, folded."""

CALENDAR = frozenset(_CALENDAR.split())
"""Months, weekdays and seasons with their short forms, folded."""

PEOPLES = frozenset(_PEOPLES.split())
"""Peoples and languages, folded: they link everything with everything."""

GIVEN_NAMES = frozenset(_GIVEN.split())
"""First names that are common words as well, folded."""

COMMON = frozenset(f"{_FUNCTION} {_VERBS} {_PAST} {_NOUNS} {_QUALITIES} {_MORE} {_CALENDAR}".split())
"""Common English words in their base form, folded."""

VERBS = frozenset(_VERBS.split())
"""Common English verbs in their base form, folded."""

PAST_FORMS = frozenset(_PAST.split())
"""Irregular past forms, folded."""

GENERIC_ACRONYMS = frozenset(_GENERIC.split())
"""Acronyms of a kind of thing or a role, not of one thing, and `us` and `uk`, which link all with all; folded."""

_SUFFIXES = (
    "s",
    "es",
    "ed",
    "d",
    "ing",
    "er",
    "r",
    "ers",
    "rs",
    "est",
    "ly",
    "ness",
    "less",
    "ful",
    "able",
    "ion",
    "ions",
)
_PREFIXES = ("re", "un", "non", "pre", "over", "mis", "de", "sub", "co", "multi", "in")


@lru_cache(maxsize=65536)
def is_common(folded: str) -> bool:
    """True for a common English word or a plain inflection of one (recommended, studies, planning); takes it folded."""
    return folded in COMMON or any(stem in COMMON for stem in _stems(folded))


@lru_cache(maxsize=65536)
def is_verb_form(folded: str) -> bool:
    """True for a common verb in any form (met, meets, meeting): as the first word of a sentence it begins no name."""
    return folded in VERBS or folded in PAST_FORMS or any(stem in VERBS for stem in _stems(folded))


def _stems(word: str) -> set[str]:
    stems = set()
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            stem = word[: -len(suffix)]
            stems.add(stem)
            stems.add(stem + "e")
            if stem[-1] == "i":
                stems.add(stem[:-1] + "y")
            if stem[-1] == stem[-2]:
                stems.add(stem[:-1])
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= 4:
            rest = word[len(prefix) :]
            stems.add(rest)
            for suffix in ("s", "ed", "d", "ing"):
                if rest.endswith(suffix):
                    stems.update((rest[: -len(suffix)], rest[: -len(suffix)] + "e"))
    return stems
