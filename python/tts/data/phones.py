"""Text to phones with word boundaries, by flite's front end, and the symbol table of the corpus."""

import ctypes
import functools

from tts.data.errors import InputError

PADDING, SILENCE = "<pad>", "sil"
VOWELS = ("aa", "ae", "ah", "ao", "aw", "ax", "ay", "eh", "er", "ey", "ih", "iy", "ow", "oy", "uh", "uw")
CONSONANTS = ("b", "ch", "d", "dh", "f", "g", "hh", "jh", "k", "l", "m", "n", "ng", "p", "r", "s", "sh", "t", "th",
              "v", "w", "y", "z", "zh")  # fmt: skip
SYMBOLS = (PADDING, SILENCE, *sorted(VOWELS + CONSONANTS))
SYMBOL_ID = {symbol: index for index, symbol in enumerate(SYMBOLS)}

# flite is driven as a library: its command prints segments without the words
# they belong to, and silences are wanted between words, never inside one.
_SIGNATURES = {
    "new_utterance": (ctypes.c_void_p, []),
    "utt_set_input_text": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
    "utt_init": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
    "utt_synth_text2segs": (ctypes.c_void_p, [ctypes.c_void_p]),
    "utt_relation": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "relation_head": (ctypes.c_void_p, [ctypes.c_void_p]),
    "item_next": (ctypes.c_void_p, [ctypes.c_void_p]),
    "ffeature_string": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "path_to_item": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "delete_utterance": (None, [ctypes.c_void_p]),
}


@functools.cache
def _flite():
    try:
        voices = ctypes.CDLL("libflite_cmu_us_kal.so.1", mode=ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL("libflite.so.1")
    except OSError as error:
        raise InputError("flite", f"its library does not load ({error})", "install the Debian package flite") from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library.flite_init()
    voices.register_cmu_us_kal.restype = ctypes.c_void_p
    voices.register_cmu_us_kal.argtypes = [ctypes.c_char_p]
    return library, voices.register_cmu_us_kal(None)


def words_of(text: str) -> list[list[str]]:
    """The phones of `text`, one list per spoken word ("I'd" is one word or two, as flite sees it)."""
    return _read(text)[0]


def phones_of(text: str) -> list[str]:
    """What a voice is to speak: the words' phones, with silences at both ends and where flite breaks the phrase."""
    words, breaks = _read(text)
    spoken = []
    for index, word in enumerate(words):
        spoken += [SILENCE, *word] if index == 0 or index in breaks else word
    return [*spoken, SILENCE] if spoken else []


def _read(text: str) -> tuple[list[list[str]], set[int]]:
    """The words, and the numbers of those before which flite pauses."""
    library, voice = _flite()
    utterance = library.new_utterance()
    library.utt_set_input_text(utterance, text.encode("ascii", "replace"))
    library.utt_init(utterance, voice)
    library.utt_synth_text2segs(utterance)
    words: list[list[str]] = []
    names: list[str] = []
    breaks: set[int] = set()
    previous = None
    segment = library.relation_head(library.utt_relation(utterance, b"Segment"))
    while segment:
        phone = library.ffeature_string(segment, b"name").decode()
        if phone == "pau":
            breaks.add(len(words))
        else:
            word = library.path_to_item(segment, b"R:SylStructure.parent.parent")
            if word != previous:
                words.append([])
                names.append(library.ffeature_string(segment, b"R:SylStructure.parent.parent.name").decode())
            previous = word
            words[-1].append(phone)
        segment = library.item_next(segment)
    library.delete_utterance(utterance)
    _full_the_before_vowels(words, names)
    return words, breaks


def _full_the_before_vowels(words: list[list[str]], names: list[str]) -> None:
    for index in range(len(words) - 1):
        if names[index] == "the" and words[index] == ["dh", "ax"] and words[index + 1][0] in VOWELS:
            words[index] = ["dh", "iy"]
